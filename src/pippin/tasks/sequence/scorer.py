"""Answers to rows as they stream: of each row's logits is kept what metrics, report and predictions need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from pippin.data.encoding import Encoded
from pippin.data.examples import Examples
from pippin.tasks.base import Baseline, Columns, Prediction
from pippin.tasks.parts import Part
from pippin.tasks.sequence.baseline import baseline_of, remarks_on
from pippin.tasks.sequence.metrics import score
from pippin.tasks.sequence.shown import classes_part, numbers_part, worst_part

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
        self.outputs = task.labels.outputs
        self.weights = torch.tensor(task.class_weights)

    def add(self, rows: np.ndarray, logits: np.ndarray) -> None:
        if self.task.regression:
            self.predictions[rows] = logits[:, 0]
            return
        self.predictions[rows] = logits.argmax(axis=1)
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        self.scores[rows] = shifted.max(axis=1) / shifted.sum(axis=1)
        if self.truth is not None:
            likelihoods = torch.log_softmax(torch.from_numpy(logits), 1)
            self.likelihoods[rows] = likelihoods[np.arange(len(rows)), self.truth[rows]]
            if self.task.label_smoothing:
                self.spread[rows] = -(likelihoods * self.weights if len(self.weights) else likelihoods).sum(1)

    def share(self, total: Callable[[np.ndarray], np.ndarray]) -> None:
        self.predictions, self.scores = total(self.predictions), total(self.scores)
        self.likelihoods, self.spread = torch.from_numpy(total(torch.stack([self.likelihoods, self.spread]).numpy()))

    def metrics(self) -> dict[str, float]:
        assert self.truth is not None
        loss = self._loss() / self.task.count(torch.from_numpy(self.truth))
        return {**score(self.task, self.predictions, self.truth), "loss": loss}

    def predictions_of_rows(self) -> Iterator[Prediction]:
        return map(self._prediction, range(len(self.predictions)))

    def truths(self) -> Iterator[str]:
        assert self.truth is not None
        return map(self._truth, range(len(self.truth)))

    def baseline(self, reference: Encoded) -> Baseline:
        assert self.truth is not None
        assert reference.labels is not None
        return baseline_of(self.task, reference.labels, self.truth)

    def remarks(self, split: str, baseline: Baseline) -> list[str]:
        assert self.truth is not None
        return remarks_on(self.task, self.predictions, self.truth, split, baseline)

    def parts(self, examples: Examples, columns: Columns, split: str) -> tuple[Part, ...]:
        """How well the classes or numbers do, and the rows that the model is most wrong about."""
        assert self.truth is not None
        whole = numbers_part if self.task.regression else classes_part
        mistakes = worst_part(self.task, self.predictions, self.truth, self.scores, examples, columns, split)
        return (whole(self.task, self.predictions, self.truth, split), *mistakes)

    def _prediction(self, place: int) -> Prediction:
        answer = self.predictions[place].item()
        if self.task.regression:
            return Prediction(None, value=answer)
        return Prediction(self.task.labels.names[answer], self.scores[place].item())

    def _truth(self, place: int) -> str:
        assert self.truth is not None
        right = self.truth[place].item()
        return f"{right:g}" if self.task.regression else self.task.labels.names[right]

    def _loss(self) -> float:
        """The task's loss of all rows, added up in the same way, so that it is the same to the last digit."""
        assert self.truth is not None
        if self.task.regression:
            return float(self.task.loss(torch.from_numpy(self.predictions)[:, None], torch.from_numpy(self.truth)))
        only = torch.zeros(len(self.truth), dtype=torch.long)
        likelihoods = self.likelihoods * self.weights[self.truth] if len(self.weights) else self.likelihoods
        loss = functional.nll_loss(likelihoods[:, None], only, reduction="sum")
        smoothing = self.task.label_smoothing
        if smoothing:
            loss = (1 - smoothing) * loss + self.spread.sum() * (smoothing / self.outputs)
        return float(loss)
