"""Answers to rows as they stream: of each row's logits is kept what metrics, report and predictions need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from pippin.data.encoding import Encoded
from pippin.data.examples import Examples
from pippin.tasks.base import Columns, Prediction
from pippin.tasks.parts import Matrix, Part, TablePart
from pippin.tasks.sequence.metrics import confusion, per_class, score, top_confusions

if TYPE_CHECKING:
    from pippin.tasks.sequence.task import SequenceTask

_MOST_MISTAKES, _LONGEST_TEXT = 20, 300


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
        return map(self._prediction, range(len(self.predictions)))

    def truths(self) -> Iterator[str]:
        assert self.truth is not None
        return map(self._truth, range(len(self.truth)))

    def parts(self, examples: Examples, columns: Columns, split: str) -> tuple[Part, ...]:
        """How well each class does and what it is taken for, and the rows that the model is most wrong about."""
        by_class = () if self.task.regression else (self._by_class(split),)
        return (*by_class, *self._mistakes(examples, columns, split))

    def _by_class(self, split: str) -> Part:
        assert self.truth is not None
        about = (self.task.labels, self.predictions, self.truth)
        rows = tuple((name, *figures.values()) for name, figures in per_class(*about).items())
        counts, pairs = confusion(*about), top_confusions(*about)
        return Part(
            f"By class, on the {split} rows",
            TablePart(("class", "precision", "recall", "F1", "rows"), rows, ("", ".3f", ".3f", ".3f", "d"), "classes"),
            Matrix(self.task.labels.names, tuple(map(tuple, counts)), "True classes down, predicted classes across.")
            if counts
            else None,
            TablePart(("is", "taken for", "times"), tuple(pairs), ("", "", "d"), caption="Mixed up most."),
            in_brief=True,
        )

    def _mistakes(self, examples: Examples, columns: Columns, split: str) -> tuple[Part, ...]:
        """The most confident wrong answers first; for numbers, those that are furthest off."""
        assert self.truth is not None
        if self.task.regression:
            off, title, figure, how = np.abs(self.predictions - self.truth), "Furthest off", "off by", ".3g"
        else:
            off = np.where(self.predictions != self.truth, self.scores, 0.0)
            title, figure, how = "Most confident mistakes", "sure", ".0%"
        texts = [examples.texts, *([examples.pairs] if examples.pairs else [])]
        rows = tuple(
            (
                examples.rows[place],
                *(_shortened(each[place]) for each in texts),
                self._truth(place),
                self._prediction(place).label,
                round(float(off[place]), 4),
            )
            for place in np.argsort(-off, kind="stable")[:_MOST_MISTAKES].tolist()
            if off[place] > 0
        )
        heads = ("row", *columns.text[: len(texts)], "is", "taken for", figure)
        formats = ("d", *["long" for _ in texts], "", "", how)
        return (Part(f"{title}, on the {split} rows", TablePart(heads, rows, formats)),) if rows else ()

    def _prediction(self, place: int) -> Prediction:
        answer = self.predictions[place].item()
        if self.task.regression:
            return Prediction(f"{answer:.4f}", None, answer)
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
        loss = functional.nll_loss(self.likelihoods[:, None], only, reduction="sum")
        smoothing = self.task.label_smoothing
        if smoothing:
            loss = (1 - smoothing) * loss + self.spread.sum() * (smoothing / self.outputs)
        return float(loss)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
