"""What a plan is made from, beside the Recipe, the Machine and the model's facts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pippin.tasks.base import Reads


@dataclass(frozen=True)
class TaskFacts:
    metrics: tuple[str, ...]
    """All that can decide which model is best, the loss among them."""
    main_metric: str
    outputs: int
    """Of the head; 1 for regression."""
    lower_is_better: frozenset[str] = frozenset({"loss"})
    """Metrics of which less is better."""
    reads: Reads = "first token"
    """Of each row's hidden states, by the head."""


@dataclass(frozen=True)
class Rows:
    """The encoded rows."""

    lengths: np.ndarray | None
    """Tokens of each training row; None when nothing is trained."""
    evaluated: tuple[np.ndarray, ...] = ()
    """Tokens of each row of every other split."""
    has_validation: bool = False
    pads_left: bool = False
    words: int = 0
    """Different tokens in the training rows."""
    learnt: np.ndarray | None = None
    """Tokens of each training row that have a label, where the head reads these alone."""

    def splits(self) -> list[np.ndarray]:
        """The lengths in every split."""
        return [lengths for lengths in (self.lengths, *self.evaluated) if lengths is not None]
