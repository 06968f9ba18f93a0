"""Any number of labels for a text: each is a yes or no of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pippin.errors import PippinError
from pippin.models.labels import EVEN, Labels
from pippin.recipe import Recipe
from pippin.tasks.base import AnswerColumns, Scorer
from pippin.tasks.parts import Bars, Part
from pippin.tasks.sequence.task import SequenceTask

if TYPE_CHECKING:  # a command line is judged before anything is loaded
    import numpy as np
    import torch

    from pippin.data.encoding import Encoded
    from pippin.data.examples import Examples
    from pippin.tasks.sequence.several.scorer import SeveralScorer


@dataclass(frozen=True)
class SeveralTask(SequenceTask):
    """As a task of classes, but targets are rows × labels of 0 and 1."""

    metrics: tuple[str, ...] = ("f1", "f1_macro", "subset_accuracy")

    @property
    def kind(self) -> str:
        return f"{len(self.labels.names)} labels, several a row"

    @property
    def gives(self) -> str:
        return f"any of {len(self.labels.names)} labels, or none"

    @property
    def pipeline_options(self) -> str:
        return "top_k=None"

    def check(self, recipe: Recipe) -> None:
        for flag, asked, why in (
            ("--label_smoothing_factor", recipe.label_smoothing_factor, "is for rows that have one label each"),
            ("--class_weights", recipe.class_weights, "is for one label a row; here each label gets its own threshold"),
            ("--do_regression", recipe.do_regression, "predicts numbers, and here rows have several labels"),
        ):
            if asked:
                raise PippinError(f"{flag} {why}. Leave it out.")

    def with_labels(self, labels: Labels) -> SequenceTask:
        return replace(self, labels=labels)

    def count(self, labels: torch.Tensor) -> float:
        return labels.numel()

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Binary cross-entropy of every row and label, as transformers computes for `multi_label_classification`."""
        from torch.nn import functional

        return functional.binary_cross_entropy_with_logits(logits.float(), labels.float(), reduction="sum")

    def scorer(self, encoded: Encoded) -> SeveralScorer:  # type: ignore[override]
        from pippin.tasks.sequence.several.scorer import SeveralScorer

        return SeveralScorer(self, encoded)

    def settled(self, judged: Callable[[], Scorer] | None) -> Labels:
        """With the thresholds at which the labels do best on the validation rows."""
        from pippin.tasks.sequence.several.scorer import SeveralScorer

        if judged is None:
            return replace(self.labels, thresholds=(EVEN,) * len(self.labels.names))
        scorer = judged()
        assert isinstance(scorer, SeveralScorer)
        return replace(self.labels, thresholds=tuple(round(each, 6) for each in scorer.thresholds.tolist()))

    def answer_columns(self, top_k: int | None = None, all_scores: bool = False, words: bool = False) -> AnswerColumns:
        from pippin.tasks.sequence.several.answers import SeveralColumns

        return SeveralColumns(self.labels, top_k, all_scores)

    def suspects(self, examples: Examples, places: np.ndarray) -> list[str]:
        return []

    def data_parts(self, examples: Examples, encoded: Encoded) -> tuple[Part, ...]:
        import numpy as np

        if encoded.labels is None:
            return ()
        counts = encoded.labels.sum(0, dtype=int)
        order = np.argsort(-counts, kind="stable")
        names: list[Any] = [self.labels.names[place] for place in order]
        rows = counts[order].tolist()
        if none := int((~encoded.labels.any(1)).sum()):
            names, rows = [*names, "(no label)"], [*rows, none]
        return (Part("Training rows by label", bars=Bars(tuple(names), tuple(rows), "labels")),)
