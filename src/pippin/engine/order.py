"""Which rows each optimiser step of a run takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pippin.data.batches import training_order
from pippin.plan.plan import Plan


def steps_of(plan: Plan, lengths: np.ndarray, done: int = 0) -> Iterator[tuple[float, np.ndarray]]:
    """The rows of each step after those that are done, and the epoch reached with it."""
    epoch = passed = 0
    while passed < plan.schedule.steps.value:
        order = training_order(
            lengths, plan.batches.batch_size.value, plan.batches.batching.value, plan.batches.order_seed, epoch
        )
        if plan.batches.drop_last:
            order = _without_short_end(order, plan.batches.drop_last)
        for place, rows in enumerate(order[: plan.schedule.steps.value - passed], 1):
            passed += 1
            if passed > done:
                yield epoch + place / len(order), rows
        epoch += 1


def _without_short_end(order: list[np.ndarray], size: int) -> list[np.ndarray]:
    """The batches without the rows that do not fill a last micro-batch; an epoch keeps at least one batch."""
    whole = order[-1][: len(order[-1]) // size * size]
    return [*order[:-1], *([whole] if len(whole) else [])] or order
