"""The probability of every class, for those who want more than the likeliest."""

from __future__ import annotations

import numpy as np

from pippin.models.labels import Labels
from pippin.tasks.base import Prediction


class ClassScores:
    """Takes logits as they stream, and keeps a line of probabilities for each row."""

    def __init__(self, rows: int, labels: Labels):
        self.table = np.zeros((rows, labels.outputs), np.float32)

    def add(self, rows: np.ndarray, logits: np.ndarray) -> None:
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        self.table[rows] = shifted / shifted.sum(axis=1, keepdims=True)


def likeliest(scores: np.ndarray, count: int, labels: Labels) -> list[Prediction]:
    """The classes of one row with the highest probabilities, the highest first; all where there are fewer."""
    order = np.argsort(-scores, kind="stable")[:count]
    return [Prediction(labels.names[place], float(scores[place])) for place in order.tolist()]
