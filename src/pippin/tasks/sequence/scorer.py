"""Answers to rows as they stream: of each row's logits is kept what metrics, report and predictions need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from pippin.data.encoding import Encoded
from pippin.tasks.base import Prediction
from pippin.tasks.sequence.metrics import score

if TYPE_CHECKING:
    from pippin.tasks.sequence.task import SequenceTask


class SequenceScorer:
    """The class or number of each row, the class's probability, and what the row adds to the loss."""

    def __init__(self, task: SequenceTask, encoded: Encoded):
        self.task, self.truth = task, encoded.labels
        self.predictions = np.zeros(len(encoded), np.float32 if task.regression else np.int64)
        self.scores = np.zeros(0 if task.regression else len(encoded), np.float32)
        """Probabilities of the predicted classes."""
        self.likelihoods, self.spread = torch.zeros(2, 0 if encoded.labels is None else len(encoded))
        """The logarithms of the true classes' probabilities, and the sum over all classes, for label smoothing."""
        self.outputs = 1

    def add(self, rows: np.ndarray, logits: np.ndarray) -> None:
        if self.task.regression:
            self.predictions[rows] = logits[:, 0]
            return
        self.outputs = logits.shape[1]
        self.predictions[rows] = logits.argmax(axis=1)
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        self.scores[rows] = shifted.max(axis=1) / shifted.sum(axis=1)
        if self.truth is not None:
            likelihoods = torch.log_softmax(torch.from_numpy(logits), 1)
            self.likelihoods[rows] = likelihoods[np.arange(len(rows)), self.truth[rows]]
            if self.task.label_smoothing:
                self.spread[rows] = -likelihoods.sum(1)

    def metrics(self) -> dict[str, float]:
        assert self.truth is not None
        return {**score(self.task, self.predictions, self.truth), "loss": self._loss() / len(self.truth)}

    def predictions_of_rows(self) -> Iterator[Prediction]:
        """In the order of the rows."""
        if self.task.regression:
            return (Prediction(f"{value:.4f}", None, value) for value in self.predictions.tolist())
        names = self.task.labels.names
        answers = zip(self.predictions.tolist(), self.scores.tolist(), strict=True)
        return (Prediction(names[place], score) for place, score in answers)

    def truths(self) -> Iterator[str]:
        """What is right, in the order of the rows and in the words of the predictions."""
        assert self.truth is not None
        names = self.task.labels.names
        return (f"{float(each):g}" if self.task.regression else names[int(each)] for each in self.truth)

    def _loss(self) -> float:
        """The task's loss of all rows, added up in the same way, so that it is the same to the last digit."""
        assert self.truth is not None
        if self.task.regression:
            return float(self.task.loss(torch.from_numpy(self.predictions)[:, None], torch.from_numpy(self.truth)))
        loss = functional.nll_loss(
            self.likelihoods[:, None], torch.zeros(len(self.truth), dtype=torch.long), reduction="sum"
        )
        smoothing = self.task.label_smoothing
        if smoothing:
            loss = (1 - smoothing) * loss + self.spread.sum() * (smoothing / self.outputs)
        return float(loss)
