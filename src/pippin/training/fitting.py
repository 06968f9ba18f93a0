"""Optimiser steps in micro-batches that fit into memory: where one does not, the step is done again in smaller ones."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import torch

from pippin.data.collate import Batch
from pippin.data.encoding import Encoded
from pippin.training.step import EagerStep


class FittingStep:
    """Cuts the rows of a step into micro-batches and runs it.

    Where memory runs out, the step starts again from the same random numbers with micro-batches of half the rows. They
    add up to the same gradient, and later steps keep the size. ``notice`` hears of each halving (`smaller_batches`).
    """

    def __init__(
        self,
        step: EagerStep,
        encoded: Encoded,
        micro_batch: int,
        notice: Callable[..., None],
    ):
        self.step, self.encoded, self.notice = step, encoded, notice
        self.micro_batch = micro_batch
        """Most rows that go through the model at once, by what was found so far."""

    def __call__(self, rows: np.ndarray, number: int) -> tuple[torch.Tensor, torch.Tensor, int]:
        """Train on the rows of step ``number``; returns the loss, the gradient's norm and the tokens with padding."""
        before = self.step.backend.random_state()
        while True:
            try:
                batches = self._micro_batches(rows)
                loss, norm = self.step.gradients(batches)
                break
            except (RuntimeError, MemoryError) as error:
                if not self.step.backend.is_out_of_memory(error) or self._largest(rows) == 1:
                    raise
            # Not in the except block: there the error still holds all that the failed step left on the device.
            self.micro_batch = (self._largest(rows) + 1) // 2
            self._clear(before)
            self.notice("smaller_batches", step=number, rows=self.micro_batch)
        self.step.update()
        return loss, norm, sum(batch.tokens for batch in batches)

    def repeat(self, rows: np.ndarray) -> None:
        """A step that failed, once more, for the search for the cause."""
        self.step.repeat(self._micro_batches(rows))

    def _micro_batches(self, rows: np.ndarray) -> list[Batch]:
        parts = [rows[start : start + self.micro_batch] for start in range(0, len(rows), self.micro_batch)]
        return [self.step.collate(self.encoded, part) for part in parts]

    def _largest(self, rows: np.ndarray) -> int:
        return min(self.micro_batch, len(rows))

    def _clear(self, random_state: dict[str, torch.Tensor]) -> None:
        """Be as before the step, with as much free memory as there can be."""
        self.step.undo()
        gc.collect()  # a model may hold tensors in circles
        self.step.backend.empty_cache()
        self.step.backend.set_random_state(random_state)
