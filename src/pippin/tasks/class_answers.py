"""What answers of one class or one number add to the rows of a file."""

from __future__ import annotations

from typing import Any

from pippin.models.labels import Labels
from pippin.tasks.base import Answer, Prediction
from pippin.tasks.class_scores import likeliest


class ClassColumns:
    """Label and score, of several classes where asked for."""

    def __init__(self, labels: Labels, top_k: int | None = None, all_scores: bool = False):
        self.labels, self.top_k, self.all_scores = labels, top_k, all_scores
        self.count = min(top_k or 1, max(len(labels.names), 1))
        self.needs_scores = top_k is not None or all_scores

    @property
    def names(self) -> list[str]:
        others = [f"{name}_{place}" for place in range(2, self.count + 1) for name in ("label", "score")]
        return ["label", "score", *others, *self._score_names]

    @property
    def keys(self) -> list[str]:
        return self.names if self.top_k is None else ["label", "score", "top"]

    @property
    def _score_names(self) -> list[str]:
        return [f"score_{name}" for name in self.labels.names] if self.all_scores else []

    def cells(self, answer: Answer | None) -> list[str]:
        if answer is None:
            return [""] * len(self.names)
        return [f"{cell:.6f}" if isinstance(cell, float) else str(cell or "") for cell in self._plain(answer)]

    def values(self, answer: Answer | None) -> list[Any]:
        if answer is None:
            return [None] * len(self.keys)
        plain = self._plain(answer)
        if self.top_k is None:
            return plain
        top = [{"label": label, "score": score} for label, score in zip(plain[::2], plain[1::2], strict=True)]
        return [*plain[:2], top]

    def _plain(self, answer: Answer) -> list[Any]:
        if isinstance(answer, Prediction):
            return [answer.label, answer.score]
        best = likeliest(answer, self.count, self.labels)
        pairs = [cell for each in best for cell in (each.label, each.score)]
        return [*pairs, *(answer.tolist() if self.all_scores else ())]


class NumberColumns:
    """The number."""

    names = keys = ["value"]
    needs_scores = False

    def cells(self, answer: Answer | None) -> list[str]:
        return [""] if answer is None else [f"{self._value(answer):.7g}"]

    def values(self, answer: Answer | None) -> list[Any]:
        return [None if answer is None else self._value(answer)]

    def _value(self, answer: Answer) -> float:
        assert isinstance(answer, Prediction)
        assert answer.value is not None
        return answer.value
