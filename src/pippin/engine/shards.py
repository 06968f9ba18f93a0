"""Steps that several processes share.

Exact: the rows of a step are cut into a fixed number of shards, whatever the number of processes. Each shard's gradient
is computed by itself, with dropout drawn from (seed, step, shard), and all are added as a fixed binary tree, of which
each process makes its own branch. So one, two and four processes end with the same bits.

Fast: each process takes its part of the rows as one, and the gradients are added up in whatever order is quickest.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np
import torch

from pippin.data.collate import places_of
from pippin.data.encoding import Encoded
from pippin.engine.fitting import FittingStep
from pippin.engine.group import Group
from pippin.engine.reduce import Reducer
from pippin.tasks.base import Task


class SharedStep(FittingStep):
    """The same steps, done by a group. Where memory runs out in one process, all take less."""

    def __init__(self, *arguments: Any, group: Group, shards: int, seed: int, **settings: Any):
        """``shards``: of each step, a power of two; 0: fast, one for each process."""
        super().__init__(*arguments, **settings)
        self.group, self.seed = group, seed
        self.is_exact = shards > 0
        self.shards = shards or group.size

    @cached_property
    def reducer(self) -> Reducer:
        counts = [len(self._own(rank)) for rank in range(self.group.size)]
        return Reducer(self.step.parameters, self.group, counts, self.is_exact)

    def _gradients(self, rows: np.ndarray, number: int) -> tuple[torch.Tensor, torch.Tensor, int]:
        backend, trouble = self.step.backend, None
        losses, tokens = torch.zeros(self.shards, device=backend.device), 0
        try:
            tokens = self._backward(rows, number, losses)
        except (RuntimeError, MemoryError) as error:
            if not backend.is_out_of_memory(error):
                raise
            trouble = error
        loss, (tokens, troubles) = self.reducer.finish(losses, [tokens, trouble is not None])
        if troubles:
            raise trouble or MemoryError("another process of this job ran out of memory")
        return loss, self.step.clip(), tokens

    def _take_less(self, rows: np.ndarray, number: int) -> bool:
        can = super()._take_less(rows, number)
        self.micro_batch = -self.group.agree(-self.micro_batch)
        return bool(self.group.agree(can))

    def _backward(self, rows: np.ndarray, number: int, losses: torch.Tensor) -> int:
        """The gradients of this process's shards, whose losses are noted; returns their tokens."""
        count = count_of(self.step.task, self.encoded, rows)
        parts, own, tokens = np.array_split(rows, self.shards), self._own(self.group.rank), 0
        self.reducer.begin()
        for shard in own:
            self.step.backend.seed(key(self.seed, number, shard))
            batches = self._micro_batches(parts[shard]) if len(parts[shard]) else []
            for place, batch in enumerate(batches, 1):
                completes = shard == own[-1] and place == len(batches)
                with self.reducer.last_backward() if completes else nullcontext():
                    losses[shard] += self.step.accumulate(batch, count)
            tokens += sum(batch.tokens for batch in batches)
            if shard != own[-1]:
                self.reducer.next_shard()
        return tokens

    def _own(self, rank: int) -> range:
        """The shards of a process."""
        return range(self.shards * rank // self.group.size, self.shards * (rank + 1) // self.group.size)


def key(seed: int, step: int, shard: int) -> int:
    """A seed of its own for each shard of each step.

    >>> len({key(42, step, shard) for step in range(100) for shard in range(8)})
    800
    """
    return int(np.random.SeedSequence([seed, step, shard]).generate_state(1, np.uint64)[0] >> 1)


def count_of(task: Task, encoded: Encoded, rows: np.ndarray) -> float:
    """What the loss of a whole step is divided by: every process has all labels, so that none need be asked."""
    assert encoded.labels is not None
    places = places_of(encoded, rows) if encoded.per_token else rows
    return task.count(torch.from_numpy(encoded.labels[places]))
