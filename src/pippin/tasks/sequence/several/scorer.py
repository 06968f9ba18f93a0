"""Answers to rows as they stream: the probability of each label, for thresholds are chosen on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from pippin.data.encoding import Encoded
from pippin.data.examples import Examples
from pippin.tasks.base import Baseline, Columns, Prediction
from pippin.tasks.class_scores import sigmoid
from pippin.tasks.parts import Part
from pippin.tasks.sequence.several.answers import given, thresholds_of
from pippin.tasks.sequence.several.metrics import score
from pippin.tasks.sequence.several.shown import labels_part, worst_part
from pippin.tasks.sequence.several.thresholds import best_thresholds

if TYPE_CHECKING:
    from pippin.tasks.sequence.several.task import SeveralTask


class SeveralScorer:
    def __init__(self, task: SeveralTask, encoded: Encoded):
        self.task, self.truth = task, encoded.labels
        self.probabilities = np.zeros((len(encoded), task.labels.outputs), np.float32)
        self.losses = np.zeros(len(encoded), np.float32)
        """What each row adds to the loss."""

    def add(self, rows: np.ndarray, logits: np.ndarray) -> None:
        self.probabilities[rows] = sigmoid(logits)
        if self.truth is not None:
            labels = torch.from_numpy(self.truth[rows]).float()
            each = functional.binary_cross_entropy_with_logits(torch.from_numpy(logits), labels, reduction="none")
            self.losses[rows] = each.sum(1).numpy()

    def share(self, total: Callable[[np.ndarray], np.ndarray]) -> None:
        self.probabilities, self.losses = total(self.probabilities), total(self.losses)

    @cached_property
    def thresholds(self) -> np.ndarray:
        """Those of the model, else the best on these rows."""
        if self.task.labels.thresholds:
            return thresholds_of(self.task.labels)
        assert self.truth is not None
        return best_thresholds(self.probabilities, self.truth)

    @cached_property
    def given(self) -> np.ndarray:
        return self.probabilities >= self.thresholds

    def metrics(self) -> dict[str, float]:
        assert self.truth is not None
        return {**score(self.given, self.truth), "loss": float(self.losses.sum(dtype=float) / self.truth.size)}

    def predictions_of_rows(self) -> Iterator[Prediction]:
        labels = replace(self.task.labels, thresholds=tuple(self.thresholds.tolist()))
        return (given(line, labels) for line in self.probabilities)

    def truths(self) -> Iterator[str]:
        assert self.truth is not None
        return (self._joined(line) for line in self.truth)

    def baseline(self, reference: Encoded) -> Baseline:
        assert self.truth is not None
        assert reference.labels is not None
        common = int(reference.labels.sum(0, dtype=int).argmax())
        always = np.zeros(self.truth.shape, bool)
        always[:, common] = True
        return Baseline(f'always answering "{self.task.labels.names[common]}"', score(always, self.truth))

    def remarks(self, split: str, baseline: Baseline) -> list[str]:
        if len(self.given) < 2:
            return []
        if (self.given == self.given[0]).all():
            said = f'"{self._joined(self.given[0])}"' if self.given[0].any() else "no label"
            return [
                f"the model gives {said} to all {len(self.given)} {split} rows, whatever they say. Try more rows, more "
                "epochs (--epochs), or another learning rate (--lr)."
            ]
        reached, easy = self.metrics()["f1"], baseline.metrics["f1"]
        if reached > easy:
            return []
        return [
            f"f1 {reached:.4f} on the {split} rows is no better than {baseline.answer} ({easy:.4f}). Try more rows, "
            "more epochs (--epochs), or another learning rate (--lr)."
        ]

    def parts(self, examples: Examples, columns: Columns, split: str) -> tuple[Part, ...]:
        assert self.truth is not None
        chosen_here = not self.task.labels.thresholds
        table = labels_part(self.task, self.given, self.truth, self.thresholds, split, chosen_here)
        wrong = (self.given != self.truth.astype(bool)).any(1)
        answers = [tuple(map(self._names, each)) for each in zip(self.truth, self.given, strict=True)]
        return (table, *worst_part(wrong, self.losses, answers, examples, columns, split))

    def _joined(self, line: np.ndarray) -> str:
        return "|".join(self._names(line))

    def _names(self, line: np.ndarray) -> tuple[str, ...]:
        return tuple(self.task.labels.names[place] for place in np.flatnonzero(line))
