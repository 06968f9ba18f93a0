"""What a task is: all that no other package may know of what a model is trained for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from pippin.data.encoding import Encoded
from pippin.data.examples import Examples
from pippin.recipe import Recipe

if TYPE_CHECKING:
    import torch

#: What a head reads of each row's hidden states.
Reads = Literal["first token", "last token", "every token", "targets"]


@dataclass(frozen=True)
class Prediction:
    """One text's answer: a class with its probability, or for regression a number."""

    label: str
    """The class; for regression the number in four decimals."""
    score: float | None
    """The probability of the class; None for regression."""
    value: float | None = None
    """The number in full; None for classes."""


class Scorer(Protocol):
    """Takes answers while they stream, and keeps of each no more than metrics, report and predictions need."""

    def add(self, rows: np.ndarray, logits: np.ndarray) -> None:
        """Some rows of the split, and a line of logits for each of them, or for each of their tokens end to end."""

    def metrics(self) -> dict[str, float]:
        """The task's metrics and the loss, when all rows were added."""

    def predictions_of_rows(self) -> Iterator[Prediction]:
        """In the order of the rows."""

    def truths(self) -> Iterator[str]:
        """What is right, in the order of the rows and in the words of the predictions; where the rows have labels."""


class Task(Protocol):
    """What is learnt from the rows. The engine knows no more of it than this."""

    @property
    def name(self) -> str | None: ...

    @property
    def reads(self) -> Reads: ...

    @property
    def metrics(self) -> tuple[str, ...]: ...

    @property
    def main_metric(self) -> str:
        """The metric that decides which model is best."""

    @property
    def lower_is_better(self) -> frozenset[str]:
        """Metrics of which less is better."""

    def check(self, recipe: Recipe) -> None:
        """Refuse settings that make no sense for it."""

    def count(self, labels: torch.Tensor) -> int:
        """What the loss of a step is divided by: the rows, or the tokens that have a label. Labels are on the CPU."""

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The sum over a micro-batch, so that those of a step add up to the whole exactly."""

    def scorer(self, encoded: Encoded) -> Scorer:
        """Takes the answers to these rows."""

    def suspects(self, examples: Examples, places: np.ndarray) -> list[str]:
        """What in these training rows may have made a loss that is no number, each with a cure."""
