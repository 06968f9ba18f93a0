"""One class or one number for a text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from pippin.errors import PippinError
from pippin.models.labels import SEQUENCE_CLASSIFICATION, Labels
from pippin.recipe import Recipe
from pippin.tasks.base import AnswerColumns, Command, Dataset, Reads, Scorer
from pippin.tasks.parts import Bars, Part

if TYPE_CHECKING:  # a command line is judged before anything is loaded
    import numpy as np
    import torch

    from pippin.data.encoding import Encoded
    from pippin.data.examples import Examples
    from pippin.tasks.rows import Splits
    from pippin.tasks.sequence.scorer import SequenceScorer


@dataclass(frozen=True)
class SequenceTask:
    """What is to be learnt. Empty columns and classes are found in the data."""

    name: str | None = None
    text_columns: tuple[str, ...] = ()
    label_column: str | None = None
    classes: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("accuracy", "f1_macro")
    regression: bool = False
    combined: bool = False
    """Whether the mean of the metrics is the task's score, as for GLUE's tasks with two."""
    labels: Labels = Labels(())
    """What was found in the data, in the order of the model's outputs."""
    label_smoothing: float = 0.0
    class_weights: tuple[float, ...] = ()
    """How much a row of each class counts in the loss; nothing: all alike."""

    auto_model: ClassVar[str] = SEQUENCE_CLASSIFICATION
    pipeline: ClassVar[str] = "text-classification"
    command: ClassVar[Command] = "predict"
    reads: ClassVar[Reads] = "first token"
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"loss", "mse", "mae", "rmse"})

    @property
    def pipeline_options(self) -> str:
        return 'function_to_apply="none"' if self.regression else ""

    @property
    def main_metric(self) -> str:
        return "combined_score" if self.combined else self.metrics[0]

    @property
    def kind(self) -> str:
        return "numbers" if self.regression else f"{len(self.labels.names)} classes"

    @property
    def gives(self) -> str:
        return "a number" if self.regression else f"one of {self.kind}"

    def check(self, recipe: Recipe) -> None:
        if recipe.label_smoothing_factor and self.regression:
            raise PippinError("--label_smoothing_factor is for classes, and here numbers are predicted. Leave it out.")
        if recipe.class_weights and self.regression:
            raise PippinError("--class_weights is for classes, and here numbers are predicted. Leave it out.")

    def read(self, recipe: Recipe, known: Labels | None = None, rows: Splits | None = None) -> Dataset:
        from pippin.tasks.sequence.dataset import prepare
        from pippin.tasks.sequence.sources import find_source

        return prepare(find_source(recipe, rows), recipe, known)

    def with_labels(self, labels: Labels) -> SequenceTask:
        if labels.several:
            from pippin.tasks.sequence.several.task import SeveralTask

            return SeveralTask(labels=labels)
        weight_of = dict(zip(self.labels.names, self.class_weights, strict=bool(self.class_weights)))
        weights = tuple(weight_of.get(name, 1.0) for name in labels.names) if weight_of else ()
        return replace(self, labels=labels, regression=labels.regression, class_weights=weights)

    def encode(self, examples: Examples, tokenizer: Any, max_length: int, fresh: bool = False) -> Encoded:
        from pippin.data.encoding import encode

        return encode(examples, tokenizer, max_length, fresh)

    def count(self, labels: torch.Tensor) -> float:
        """Weights divide the loss too, as torch's cross-entropy has it: a batch counts no less for its classes."""
        if not self.class_weights:
            return len(labels)
        return sum(self.class_weights[label] for label in labels.tolist()) or 1.0

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Cross-entropy for classes, squared error for numbers: what transformers' heads compute, summed over rows."""
        from torch.nn import functional

        from pippin.tasks.class_weights import weights_beside

        logits = logits.float()
        if self.regression:
            return functional.mse_loss(logits.squeeze(-1), labels.float(), reduction="sum")
        weight = weights_beside(logits, self.class_weights) if self.class_weights else None
        return functional.cross_entropy(logits, labels, weight, reduction="sum", label_smoothing=self.label_smoothing)

    def scorer(self, encoded: Encoded) -> SequenceScorer:
        from pippin.tasks.sequence.scorer import SequenceScorer

        return SequenceScorer(self, encoded)

    def settled(self, judged: Callable[[], Scorer] | None) -> Labels:
        return self.labels

    def answer_columns(self, top_k: int | None = None, all_scores: bool = False, words: bool = False) -> AnswerColumns:
        from pippin.tasks.class_answers import ClassColumns, NumberColumns

        wants_scores = top_k is not None or all_scores
        return NumberColumns() if self.regression and not wants_scores else ClassColumns(self.labels, top_k, all_scores)

    def suspects(self, examples: Examples, places: np.ndarray) -> list[str]:
        import numpy as np

        if not self.regression or examples.labels is None:
            return []
        largest = places[np.argmax(np.abs(examples.labels[places]))]
        number, row = examples.labels[largest], examples.rows[largest]
        return [f"an extreme number to learn: the largest is {number:g} in row {row}, fix it or scale them all"]

    def data_parts(self, examples: Examples, encoded: Encoded) -> tuple[Part, ...]:
        import numpy as np

        if self.regression or encoded.labels is None:
            return ()
        counts = np.bincount(encoded.labels, minlength=len(self.labels.names))
        order = np.argsort(-counts, kind="stable")
        names = tuple(self.labels.names[place] for place in order)
        return (Part("Training rows by class", bars=Bars(names, tuple(counts[order].tolist()), "classes")),)
