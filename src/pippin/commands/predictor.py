"""A trained model that labels new texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from pippin.data.ahead import one_ahead
from pippin.data.batches import spread_lengths
from pippin.data.chunks import in_chunks
from pippin.data.encoding import Encoded
from pippin.data.examples import Examples
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
from pippin.models.loading import load_config, load_model, load_tokenizer, longest_input, require_trained
from pippin.plan.device import choose_device
from pippin.plan.layout import choose_last_layer, choose_layout
from pippin.recipe import Recipe
from pippin.runs.model import trained_run
from pippin.runs.record import Run
from pippin.tasks.base import Prediction, Task
from pippin.tasks.registry import task_for

#: What a caller gives along with some rows, and gets back with their answers.
Part = TypeVar("Part")

_HUB_NAME = re.compile(r"(?!runs/)\w[\w.-]*/\w[\w.-]*")


class Predictor:
    """Tokenizer, model and device together."""

    def __init__(self, inference: Inference, tokenizer: Any, task: Task, max_length: int, run: Run | None):
        self.inference, self.tokenizer, self.task = inference, tokenizer, task
        self.max_length, self.run = max_length, run
        # Two streams may be open at a time, each with a thread of its own; a tokenizer serves one at a time.
        self._tokenizer_is_free = Lock()

    @classmethod
    def load(cls, folder: str, device: str | None = None, int8: bool = False) -> Predictor:
        """Load a run's folder, or any folder or Hub name of a transformers classifier; with int8 only roughly."""
        path = Path(folder)
        if path.is_file():
            raise PippinError(f"{folder} is a file; name the folder of a model.")
        if not path.exists() and not is_hub_name(folder):
            raise PippinError(f"{folder}: there is no such folder.")
        run = trained_run(path) if path.is_dir() else None
        if path.is_dir() and not (path / "config.json").is_file():
            raise PippinError(f"{folder} holds no trained model (no config.json). Name a folder that has one.")
        recipe = Recipe(model_name_or_path=folder, device=device)
        backend = get_backend(choose_device(recipe, probe()).value)
        if int8 and backend.traits.is_gpu:
            raise PippinError(f"int8 is for the CPU, and the device is {backend.kind}. Leave it out, or choose cpu.")
        task = task_for(run.recipe if run else recipe)
        labels = require_trained(recipe, task.auto_model)
        task = task.with_labels(labels)
        config, tokenizer = load_config(recipe, auto_model=task.auto_model), load_tokenizer(recipe)
        attention = backend.attention(work_of(config))
        model = backend.place(load_model(recipe, config, attention, Loaded.require_whole, task.auto_model))
        if int8:
            to_int8(model, labels.outputs)
        limit = longest_input(tokenizer, config)
        wanted = run.plan.batches.max_length.value if run else limit or 512
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
        return cls(Inference(network), tokenizer, task, max_length, run)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The text columns of the training; none where the folder has no record of it."""
        return self.run.data.text_columns if self.run else ()

    def predict(
        self,
        texts: Iterable[str],
        pairs: Iterable[str] | None = None,
        on_rows: Callable[[int], None] | None = None,
    ) -> list[Prediction]:
        """Label texts (or pairs of texts); answers come in the order of the input.

        Lists, numpy arrays and pandas Series of strings will do. A text that is empty, or no string, is an error.
        """
        firsts = list(_checked(texts, "texts"))
        seconds = None if pairs is None else list(_checked(pairs, "pairs"))
        if seconds is not None and len(seconds) != len(firsts):
            raise PippinError(f"{len(firsts)} texts but {len(seconds)} pairs: give the second text of each, in order.")
        self._check_texts_a_row(1 if pairs is None else 2)
        return list(self._answers_to(firsts, seconds, on_rows))

    def stream(self, texts: Iterable[str], pairs: Iterable[str] | None = None) -> Iterator[Prediction]:
        """Label texts (or pairs of texts) that need not fit into memory, one answer after another, in order.

        Some thousand texts are taken at a time, and the next ones from another thread while the model works.

        >>> for answer in predictor.stream(line.strip() for line in open("lines.txt")):   # doctest: +SKIP
        ...     print(answer.label)
        """
        self._check_texts_a_row(1 if pairs is None else 2)
        return self._answers_to(_checked(texts, "texts"), None if pairs is None else _checked(pairs, "pairs"))

    def answers(
        self, parts: Iterable[tuple[Part, Examples]], on_rows: Callable[[int], None] | None = None
    ) -> Iterator[tuple[Part, list[Prediction]]]:
        """Label chunk after chunk; each comes with something of the caller's, which goes back with the answers.

        While the model works on a chunk, the next is taken from ``parts`` and tokenised in a thread.
        """
        for part, encoded in one_ahead((part, self._encode(examples)) for part, examples in parts):
            yield part, self._label(encoded, on_rows) if encoded else []

    def _answers_to(
        self, firsts: Iterable[str], seconds: Iterable[str] | None, on_rows: Callable[[int], None] | None = None
    ) -> Iterator[Prediction]:
        rows = ((text,) for text in firsts) if seconds is None else _paired(firsts, seconds)
        for _, answers in self.answers(_examples(rows), on_rows):
            yield from answers

    def _encode(self, examples: Examples) -> Encoded | None:
        if not len(examples):
            return None
        with self._tokenizer_is_free:
            return self.task.encode(examples, self.tokenizer, self.max_length)

    def _label(self, encoded: Encoded, on_rows: Callable[[int], None] | None) -> list[Prediction]:
        scorer = self.task.scorer(encoded)
        self.inference.run(encoded, scorer.add, on_rows)
        return list(scorer.predictions_of_rows())

    def _check_texts_a_row(self, given: int) -> None:
        if self.text_columns and len(self.text_columns) != given:
            hint = "Give the second texts too, as pairs." if given == 1 else "Leave the pairs out."
            raise PippinError(f"this model was trained on {count_texts(self.text_columns)}, but {given} came. {hint}")


def count_texts(columns: tuple[str, ...]) -> str:
    """What a model reads, for a message.

    >>> count_texts(("premise", "hypothesis"))
    '2 texts a row (premise, hypothesis)'
    """
    return f"{len(columns)} text{'s' * (len(columns) > 1)} a row ({', '.join(columns)})"


def text_problem(text: Any) -> str | None:
    """What keeps a text from being labelled, if anything."""
    if not isinstance(text, str):
        return f"is {text!r:.40}, not a text"
    if not text.strip():
        return "is empty"
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"holds half of a character ({text!r:.40})"
    return None


def is_hub_name(name: str) -> bool:
    """Whether a name that is no path here can be a model's on the Hub: org/name."""
    return bool(_HUB_NAME.fullmatch(name)) and not Path(name).exists()


def is_in_hub_cache(name: str) -> bool:
    """Whether a model of the Hub was fetched before."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.utils import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except HFValidationError:
        return False


def _checked(texts: Iterable[str], argument: str) -> Iterator[str]:
    """The texts, up to the first that cannot be labelled."""
    if isinstance(texts, str):
        raise PippinError(f"give a list of texts; put the one text in brackets: {argument}=[text].")
    return _checked_one_by_one(texts, argument)


def _checked_one_by_one(texts: Iterable[str], argument: str) -> Iterator[str]:
    for place, text in enumerate(texts):
        problem = text_problem(text)
        if problem:
            raise PippinError(f"{argument}[{place}] {problem}: every text must be a string with something in it.")
        yield str(text)


def _paired(firsts: Iterable[str], seconds: Iterable[str]) -> Iterator[tuple[str, ...]]:
    for place, pair in enumerate(zip_longest(firsts, seconds)):
        if None in pair:
            which = "pairs end" if pair[1] is None else "texts end"
            raise PippinError(f"the {which} after {place}: give the second text of each, in order.")
        yield pair


def _examples(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[None, Examples]]:
    for first, chunk in in_chunks(rows, characters):
        texts, *pairs = map(list, zip(*chunk, strict=True))
        yield None, Examples(texts, pairs[0] if pairs else None, None, list(range(first, first + len(texts))), "")
