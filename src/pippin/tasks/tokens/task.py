"""A tag for each word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pippin.errors import PippinError
from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.base import AnswerColumns, Command, Dataset, Reads, Scorer
from pippin.tasks.parts import Bars, Part
from pippin.tasks.tokens.tags import OUTSIDE, parts_of

if TYPE_CHECKING:  # a command line is judged before anything is loaded
    import numpy as np
    import torch

    from pippin.data.encoding import Encoded
    from pippin.data.examples import Examples
    from pippin.tasks.rows import Splits
    from pippin.tasks.tokens.scorer import TagScorer

#: How answers to the tokens of a word in a text become one. ``simple``: not at all, so spans may begin or end within a
#: word. ``first``: the answer to its first token holds for all of it.
Aggregation = Literal["simple", "first"]


@dataclass(frozen=True)
class TokensTask:
    """Tags that mark entities (B-PER, I-PER, O), or plain ones such as parts of speech."""

    name: str | None = None
    labels: Labels = Labels(())
    """The tags, in the order of the model's outputs."""
    label_smoothing: float = 0.0
    class_weights: tuple[float, ...] = ()
    """How much a word of each tag counts in the loss; nothing: all alike."""
    aggregation: Aggregation = "simple"

    auto_model: ClassVar[str] = "AutoModelForTokenClassification"
    pipeline: ClassVar[str] = "token-classification"
    command: ClassVar[Command] = "predict"
    reads: ClassVar[Reads] = "every token"
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"loss"})

    @cached_property
    def marks_entities(self) -> bool:
        """Whether tags begin and go on with entities, rather than standing for a word each."""
        return any(parts_of(tag)[0] not in ("", OUTSIDE) for tag in self.labels.names)

    @property
    def pipeline_options(self) -> str:
        return 'aggregation_strategy="simple"' if self.marks_entities else ""

    @property
    def kinds(self) -> tuple[str, ...]:
        """What entities may be; of plain tags, the tags."""
        kinds = {parts_of(tag)[1] for tag in self.labels.names} - {""}
        return tuple(sorted(kinds)) if self.marks_entities else self.labels.names

    @property
    def kind(self) -> str:
        return f"{len(self.kinds)} {'kinds of entities' if self.marks_entities else 'tags'}"

    @property
    def gives(self) -> str:
        return f"the {self.kind} in a text" if self.marks_entities else f"one of {self.kind} for each word"

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("f1", "precision", "recall", "accuracy") if self.marks_entities else ("accuracy", "f1_macro")

    @property
    def main_metric(self) -> str:
        return self.metrics[0]

    def check(self, recipe: Recipe) -> None:
        for flag, asked, why in (
            ("--do_regression", recipe.do_regression, "predicts numbers, and here words have tags"),
            ("--several_labels", recipe.several_labels == "on", "is for texts, and here words have one tag each"),
        ):
            if asked:
                raise PippinError(f"{flag} {why}. Leave it out.")

    def read(self, recipe: Recipe, known: Labels | None = None, rows: Splits | None = None) -> Dataset:
        from pippin.tasks.tokens.dataset import prepare

        return prepare(self, recipe, known, rows)

    def with_labels(self, labels: Labels) -> TokensTask:
        weight_of = dict(zip(self.labels.names, self.class_weights, strict=bool(self.class_weights)))
        weights = tuple(weight_of.get(name, 1.0) for name in labels.names) if weight_of else ()
        return replace(self, labels=labels, class_weights=weights)

    def encode(self, examples: Examples, tokenizer: Any, max_length: int, fresh: bool = False) -> Encoded:
        from pippin.tasks.tokens.encoding import encode_words

        return encode_words(examples, tokenizer, max_length)

    def count(self, labels: torch.Tensor) -> float:
        from pippin.data.collate import NO_LABEL

        has_label = labels != NO_LABEL
        if not self.class_weights:
            return int(has_label.sum())
        return sum(self.class_weights[label] for label in labels[has_label].tolist()) or 1.0

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Cross-entropy of the words' first pieces, as transformers' heads compute it, summed."""
        from torch.nn import functional

        from pippin.data.collate import NO_LABEL
        from pippin.tasks.class_weights import weights_beside

        weight = weights_beside(logits, self.class_weights) if self.class_weights else None
        return functional.cross_entropy(
            logits.float().flatten(0, 1),
            labels.flatten(),
            weight,
            ignore_index=NO_LABEL,
            reduction="sum",
            label_smoothing=self.label_smoothing,
        )

    def scorer(self, encoded: Encoded) -> TagScorer:
        from pippin.tasks.tokens.encoding import EncodedWords
        from pippin.tasks.tokens.scorer import TagScorer

        assert isinstance(encoded, EncodedWords)
        return TagScorer(self, encoded)

    def settled(self, judged: Callable[[], Scorer] | None) -> Labels:
        return self.labels

    def answer_columns(self, top_k: int | None = None, all_scores: bool = False, words: bool = False) -> AnswerColumns:
        from pippin.tasks.tokens.answers import SpanColumns, TagColumns

        if top_k is not None or all_scores:
            raise PippinError("--top_k and --all_scores are for models that give a text one answer. Leave them out.")
        return TagColumns() if words else SpanColumns()

    def suspects(self, examples: Examples, places: np.ndarray) -> list[str]:
        return []

    def data_parts(self, examples: Examples, encoded: Encoded) -> tuple[Part, ...]:
        import numpy as np

        from pippin.tasks.tokens.encoding import EncodedWords
        from pippin.tasks.tokens.shown import numbers_by_kind

        if encoded.labels is None:
            return ()
        assert isinstance(encoded, EncodedWords)
        names, counts = numbers_by_kind(self, encoded)
        order = np.argsort(-counts, kind="stable")
        what, counted = ("kinds", "entities") if self.marks_entities else ("tags", "words")
        bars = Bars(tuple(names[place] for place in order), tuple(counts[order].tolist()), what, counted)
        title = "Entities in the training rows" if self.marks_entities else "Words of the training rows by tag"
        return (Part(title, bars=bars),)
