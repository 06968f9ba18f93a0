"""The probability of every class, for those who want more than the likeliest."""

from __future__ import annotations

import numpy as np

from pippin.models.labels import Labels
from pippin.tasks.base import Prediction


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """The probability of each label, whatever the others'."""
    return 0.5 * (np.tanh(0.5 * logits) + 1)  # no overflow, whatever the number


class ClassScores:
    """Takes logits as they stream, and keeps a line of probabilities for each row."""

    def __init__(self, rows: int, labels: Labels):
        self.labels = labels
        self.table = np.zeros((rows, labels.outputs), np.float32)

    def add(self, rows: np.ndarray, logits: np.ndarray) -> None:
        if self.labels.several:
            self.table[rows] = sigmoid(logits)
            return
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        self.table[rows] = shifted / shifted.sum(axis=1, keepdims=True)


def likeliest(scores: np.ndarray, count: int, labels: Labels) -> list[Prediction]:
    """The classes of one row with the highest probabilities, the highest first; all where there are fewer."""
    order = np.argsort(-scores, kind="stable")[:count]
    return [Prediction(labels.names[place], float(scores[place])) for place in order.tolist()]
