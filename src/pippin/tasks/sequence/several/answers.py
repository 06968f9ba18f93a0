"""What answers of several labels add to the rows of a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from pippin.models.labels import Labels
from pippin.tasks.base import Answer, Prediction
from pippin.tasks.class_answers import ClassColumns


class SeveralColumns(ClassColumns):
    """The labels that are given with their scores; with ``top_k`` the likeliest ones, given or not."""

    @property
    def names(self) -> list[str]:
        return super().names if self.top_k is not None else ["labels", "scores", *self._score_names]

    @property
    def keys(self) -> list[str]:
        return ["labels", "scores", "top"] if self.top_k is not None else self.names

    def cells(self, answer: Answer | None) -> list[str]:
        if answer is None or self.top_k is not None:
            return super().cells(answer)
        found = self._given(answer)
        scores = "|".join(f"{score:.6f}" for score in found.scores)
        return [str(found), scores, *(f"{score:.6f}" for score in self._all(answer))]

    def values(self, answer: Answer | None) -> list[Any]:
        if answer is None:
            return super().values(None)
        found = self._given(answer)
        given = [list(found.labels or ()), list(found.scores)]
        return [*given, *(super().values(answer)[2:] if self.top_k is not None else self._all(answer))]

    def _given(self, answer: Answer) -> Prediction:
        return answer if isinstance(answer, Prediction) else given(answer, self.labels)

    def _all(self, answer: Answer) -> list[float]:
        return [] if isinstance(answer, Prediction) else answer.tolist()


def thresholds_of(labels: Labels) -> np.ndarray:
    return np.array(labels.thresholds, np.float32)


def given(probabilities: np.ndarray, labels: Labels) -> Prediction:
    """The labels of one row whose probability reaches their threshold, in the labels' order."""
    places = np.flatnonzero(probabilities >= thresholds_of(labels))
    return Prediction(
        labels=tuple(labels.names[place] for place in places),
        scores=tuple(float(probabilities[place]) for place in places),
    )
