"""A trained model that labels new texts."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn, TypeVar, get_args, overload

import numpy as np

from pippin.commands.given_texts import count_texts, rows_of
from pippin.commands.named_model import run_of
from pippin.data.ahead import one_ahead
from pippin.data.batches import spread_lengths
from pippin.data.chunks import in_chunks
from pippin.data.encoding import Encoded
from pippin.data.examples import Examples, pairs_of
from pippin.data.scripts import unfamiliar
from pippin.data.tables import characters
from pippin.engine.inference import Inference
from pippin.engine.network import make_network
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.probe import probe
from pippin.models.attention import work_of
from pippin.models.completeness import Loaded
from pippin.models.facts import facts_of
from pippin.models.int8 import to_int8
from pippin.models.loading import load_config, load_model, load_tokenizer, longest_input, require_trained, trained_head
from pippin.plan.device import choose_device
from pippin.plan.layout import choose_last_layer, choose_layout
from pippin.recipe import Recipe
from pippin.report.report import Report, for_python, read_report
from pippin.runs.record import Run
from pippin.tasks.base import Prediction, Task
from pippin.tasks.class_scores import ClassScores, likeliest
from pippin.tasks.language.task import LanguageTask
from pippin.tasks.registry import task_by_head, task_by_name
from pippin.tasks.tokens.task import Aggregation, TokensTask

#: What a caller gives along with some rows, and gets back with their answers.
Part = TypeVar("Part")

#: Characters that all the classes' names may take up where a predictor is shown in a line.
_SHORT_NAMES = 60


class Predictions(list[Prediction]):
    """A list of answers, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        from pippin.report.summary import predictions_html

        return predictions_html(self)


class Predictor:
    """A trained model, ready to predict: tokenizer, weights and device together."""

    def __init__(
        self, inference: Inference, tokenizer: Any, task: Task, max_length: int, run: Run | None, folder: str = ""
    ):
        self.inference, self.tokenizer, self.task = inference, tokenizer, task
        self.max_length, self.run, self.folder = max_length, run, folder
        self.notice: Callable[[str], None] | None = None
        """Hears once that the first texts are in a script that the tokenizer does not know."""
        # Two streams may be open at a time, each with a thread of its own; a tokenizer serves one at a time.
        self._tokenizer_is_free = Lock()

    @classmethod
    def load(
        cls,
        folder: str,
        device: str | None = None,
        int8: bool = False,
        aggregation_strategy: Aggregation | None = None,
    ) -> Predictor:
        """Load a run, or any folder or Hub name of a transformers classifier or tagger; with int8 only roughly."""
        run = run_of(folder)
        recipe = Recipe(model_name_or_path=folder, device=device)
        head = trained_head(recipe)
        if head == LanguageTask.auto_model:
            raise PippinError(
                f"{folder} is a language model: it answers, and gives no labels. Use: pippin chat {shlex.quote(folder)}"
            )
        backend = get_backend(choose_device(recipe, probe()).value)
        if int8 and backend.traits.is_gpu:
            raise PippinError(f"int8 is for the CPU, and the device is {backend.kind}. Leave it out, or choose cpu.")
        task = (task_by_name(run.recipe.task_name) if run else None) or task_by_head(head)
        labels = require_trained(recipe, task.auto_model)
        task = _aggregating(task.with_labels(labels), aggregation_strategy)
        config, tokenizer = load_config(recipe, auto_model=task.auto_model), load_tokenizer(recipe)
        attention = backend.attention(work_of(config))
        model = backend.place(load_model(recipe, config, attention, Loaded.require_whole, task.auto_model))
        if int8:
            to_int8(model, labels.outputs)
        limit = longest_input(tokenizer, config)
        wanted = run.plan.batches.max_length.value if run else limit or 512
        if isinstance(task, TokensTask):  # a window as wide as can be: what stands around a word tells what it is
            wanted = limit or wanted
        max_length = min(wanted, limit or wanted)
        # Not the plan's pad lengths: those suit the rows of the training, and new texts can be like anything.
        pads_left = tokenizer.padding_side == "left"
        traits, facts = backend.traits, facts_of(config)
        precision = run.plan.execution.precision.value if run and traits.bf16_by_default else "fp32"
        layout = choose_layout(recipe, facts, traits, precision, max_length, pads_left).value
        last_layer = choose_last_layer(facts, pads_left, task.reads).value
        pad_lengths = spread_lengths(max_length, traits.shape_limit)
        network = make_network(model, backend, precision, layout, last_layer, pad_lengths, task.reads)
        network.keep_products_in_half()
        return cls(Inference(network), tokenizer, task, max_length, run, folder)

    def __repr__(self) -> str:
        return f"Predictor({self.folder!r}, {self._answers()}, on {self.inference.backend.kind})"

    def _repr_html_(self) -> str:
        from pippin.report.summary import predictor_html

        columns = " and ".join(self.text_columns)
        facts = {
            "model": self.folder,
            "reads": columns,
            "predicts": self._answers(),
            "device": self.inference.backend.kind,
        }
        return predictor_html(facts, self.classes)

    def _answers(self) -> str:
        """What it predicts; class names only where they are short."""
        names = ", ".join(self.classes)
        what = "labels" if self.task.labels.several else "classes"
        count = f"{len(self.classes)} {what}" if names else "numbers"
        return f"{count}: {names}" if 0 < len(names) <= _SHORT_NAMES else count

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, in the order of predict_proba's columns; none where numbers are predicted."""
        return self.task.labels.names

    @property
    def report(self) -> Report | None:
        """What came out of the run; None for a model that Pippin did not train."""
        report = read_report(Path(self.folder)) if self.run else None
        return for_python(report) if report else None

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The text columns of the training; none where the folder has no record of it."""
        return self.run.data.text_columns if self.run else ()

    @overload
    def predict(self, texts: str, pairs: str | None = None, *, top_k: None = None) -> Prediction: ...

    @overload
    def predict(self, texts: str, pairs: str | None = None, *, top_k: int) -> list[Prediction]: ...

    @overload
    def predict(
        self, texts: Iterable[Any], pairs: Iterable[str] | None = None, *, top_k: None = None
    ) -> list[Prediction]: ...

    @overload
    def predict(
        self, texts: Iterable[Any], pairs: Iterable[str] | None = None, *, top_k: int
    ) -> list[list[Prediction]]: ...

    def predict(self, texts: Any, pairs: Any = None, *, top_k: int | None = None) -> Any:
        """Label texts; answers come in the order of the texts.

        texts   one text, or a list, array or Series of texts; for a model of text pairs, (first, second) tuples
        pairs   the second text of each, instead of tuples
        top_k   so many of the likeliest classes for each text, the likeliest first, instead of one

        One text gets one answer, and several get a list. A text that is empty, or not a string, is an error.
        """
        if top_k is not None:
            if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
                raise PippinError(f"top_k={top_k!r} must be a whole number of at least 1.")
            self.check_scores()
        rows, is_one = self._rows(texts, pairs)
        given = list(rows)  # all texts are checked before any is labelled
        found: list[Any] = (
            Predictions(self._answers_to(given))
            if top_k is None
            else [likeliest(line, top_k, self.task.labels) for table in self._tables(given) for line in table]
        )
        return found[0] if is_one else found

    def predict_proba(self, texts: Any, pairs: Any = None) -> np.ndarray:
        """The probability of every class for each text: an array of texts × classes, in the order of ``classes``.

        One text gives one line of it.
        """
        self.check_scores()
        rows, is_one = self._rows(texts, pairs)
        table = np.concatenate([np.zeros((0, len(self.classes)), np.float32), *self._tables(list(rows))])
        return table[0] if is_one else table

    def stream(self, texts: Iterable[Any], pairs: Iterable[str] | None = None) -> Iterator[Prediction]:
        """Label texts that need not fit into memory, one answer after another, in order.

        Some thousand texts are taken at a time, and the next ones in another thread while the model works.

        >>> for answer in predictor.stream(line.strip() for line in open("lines.txt")):   # doctest: +SKIP
        ...     print(answer.label)
        """
        if isinstance(texts, str):
            raise PippinError("stream takes many texts; for one text: predict(text).")
        return self._answers_to(self._rows(texts, pairs)[0])

    def answer(self, *messages: Any, **settings: Any) -> NoReturn:
        """Models that label texts have no answers in words."""
        raise PippinError(f"{self.folder} labels texts, and is no language model. Use predict(…).")

    def answers(
        self, parts: Iterable[tuple[Part, Examples]], on_rows: Callable[[int], None] | None = None
    ) -> Iterator[tuple[Part, list[Prediction]]]:
        """Label chunk after chunk; each comes with something of the caller's, which goes back with the answers.

        While the model works on a chunk, the next is taken from ``parts`` and tokenised in a thread.
        """
        for part, encoded in self._encoded(parts):
            yield part, self._label(encoded, on_rows) if encoded else []

    def probabilities(
        self, parts: Iterable[tuple[Part, Examples]], on_rows: Callable[[int], None] | None = None
    ) -> Iterator[tuple[Part, np.ndarray]]:
        """As ``answers``, with a line of probabilities for each row."""
        for part, encoded in self._encoded(parts):
            scores = ClassScores(len(encoded) if encoded else 0, self.task.labels)
            if encoded:
                self.inference.run(encoded, scores.add, on_rows)
            yield part, scores.table

    def check_scores(self) -> None:
        """Refuse to give scores of classes where there are none."""
        if self.task.labels.regression:
            raise PippinError("this model predicts numbers, not classes, so there are no scores of classes.")
        if self.task.reads == "every token":
            raise PippinError("this model answers for each token, so a text has no scores of classes.")

    def _rows(self, texts: Any, pairs: Any) -> tuple[Iterator[tuple[str, ...]], bool]:
        """The texts of each row, checked as they come, and whether it is a single row."""
        is_row = isinstance(texts, tuple) and len(texts) > 1 and all(isinstance(text, str) for text in texts)
        is_one = isinstance(texts, str) or (is_row and pairs is None and len(self.text_columns) == len(texts))
        if isinstance(pairs, str) and not is_one:
            raise PippinError("pairs is one text: give a list of second texts, one for each text.")
        if is_one:
            texts, pairs = [texts], None if pairs is None else [pairs]
        rows = rows_of(texts, pairs, "text" if is_one else "texts")
        if pairs is not None:
            self._check_texts_a_row(2)
        return self._as_trained(rows), is_one

    def _as_trained(self, rows: Iterator[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
        """The same rows; refused where they have another number of texts than those of the training."""
        for row in rows:
            self._check_texts_a_row(len(row))
            yield row

    def _check_texts_a_row(self, given: int) -> None:
        if self.text_columns and len(self.text_columns) != given:
            count = len(self.text_columns)
            hint = "Give one text for each row." if count == 1 else f"Give tuples of {count} texts."
            raise PippinError(f"this model was trained on {count_texts(self.text_columns)}, but {given} came. {hint}")

    def _answers_to(self, rows: Iterable[tuple[str, ...]]) -> Iterator[Prediction]:
        for _, answers in self.answers(_examples(rows)):
            yield from answers

    def _tables(self, rows: Iterable[tuple[str, ...]]) -> Iterator[np.ndarray]:
        return (table for _, table in self.probabilities(_examples(rows)))

    def _encoded(self, parts: Iterable[tuple[Part, Examples]]) -> Iterator[tuple[Part, Encoded | None]]:
        return one_ahead((part, self._encode(examples)) for part, examples in parts)

    def _encode(self, examples: Examples) -> Encoded | None:
        if not len(examples):
            return None
        with self._tokenizer_is_free:
            if self.notice and (problem := unfamiliar(examples.texts, self.tokenizer)):
                self.notice(f"{problem}, so expect poor answers")
            self.notice = None
            return self.task.encode(examples, self.tokenizer, self.max_length)

    def _label(self, encoded: Encoded, on_rows: Callable[[int], None] | None) -> list[Prediction]:
        scorer = self.task.scorer(encoded)
        self.inference.run(encoded, scorer.add, on_rows)
        return list(scorer.predictions_of_rows())


def _aggregating(task: Task, strategy: Aggregation | None) -> Task:
    if strategy is None:
        return task
    if not isinstance(task, TokensTask):
        raise PippinError(f"aggregation_strategy is for models that find spans, and this one gives {task.gives}.")
    if strategy not in get_args(Aggregation):
        raise PippinError(f"aggregation_strategy={strategy!r} must be one of {', '.join(get_args(Aggregation))}.")
    return replace(task, aggregation=strategy)


def _examples(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[None, Examples]]:
    for first, chunk in in_chunks(rows, characters):
        texts, *others = map(list, zip(*chunk, strict=True))
        yield None, Examples(texts, pairs_of(others), None, list(range(first, first + len(texts))), "")
