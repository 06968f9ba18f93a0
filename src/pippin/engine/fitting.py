"""Optimiser steps in micro-batches that fit into memory: where one does not, the step is done again in smaller ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from pippin.data.batches import micro_batches, padded_lengths
from pippin.data.collate import Batch
from pippin.data.encoding import Encoded
from pippin.engine.memory import unless_it_is_too_much
from pippin.engine.steps.eager import EagerStep


@dataclass
class FittingStep:
    """Cuts the rows of a step into micro-batches and runs it.

    Where memory runs out, the step starts again from the same random numbers with micro-batches of half the rows, and
    when a single row does not fit, with activations that are recomputed. The gradient is the same, and later steps keep
    to it. ``notice`` hears of each halving (`smaller_batches`) and of recomputing (`recomputing`).
    """

    step: EagerStep
    encoded: Encoded
    micro_batch: int
    """Most rows that go through the model at once, by what was found so far."""
    notice: Callable[..., None]
    micro_tokens: int = 0
    """About so many tokens go through it at once; 0: any number."""
    recompute: Callable[[], bool] = lambda: False
    """Makes the model recompute activations; False where it cannot, or does already."""

    def __call__(self, rows: np.ndarray, number: int) -> tuple[torch.Tensor, torch.Tensor, int]:
        """Train on the rows of step ``number``; returns the loss, the gradient's norm and the tokens with padding."""
        backend = self.step.backend
        before = backend.random_state()

        def undo() -> None:
            self.step.undo()
            backend.set_random_state(before)

        found = None
        while found is None:
            found = unless_it_is_too_much(
                backend, lambda: self._gradients(rows, number), lambda: self._take_less(rows, number), undo
            )
        self.step.update()
        return found

    def _gradients(self, rows: np.ndarray, number: int) -> tuple[torch.Tensor, torch.Tensor, int]:
        batches = self._micro_batches(rows)
        return *self.step.gradients(batches), sum(batch.tokens for batch in batches)

    def repeat(self, rows: np.ndarray) -> None:
        """A step that failed, once more, for the search for the cause."""
        self.step.repeat(self._micro_batches(rows))

    def _take_less(self, rows: np.ndarray, number: int) -> bool:
        """Change what the next attempt takes; False where nothing is left to be done."""
        if not self.step.can_undo:
            return False
        largest = max(len(part) for part in self._parts(rows))
        if largest > 1:
            self.micro_batch = (largest + 1) // 2
            self.notice("smaller_batches", step=number, rows=self.micro_batch)
            return True
        if self.recompute():
            self.notice("recomputing", step=number)
            return True
        return False

    def _micro_batches(self, rows: np.ndarray) -> list[Batch]:
        return [self.step.collate(self.encoded, part) for part in self._parts(rows)]

    def _parts(self, rows: np.ndarray) -> list[np.ndarray]:
        offsets = self.encoded.offsets
        tokens = padded_lengths(offsets[rows + 1] - offsets[rows], self.step.collate.pad_lengths)
        return micro_batches(rows, tokens, self.micro_batch, self.micro_tokens)
