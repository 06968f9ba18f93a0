"""The first epoch of a planned job: which rows go through the model together, and how many tokens that makes."""

from __future__ import annotations

import numpy as np

from pippin.commands.planning import PlannedJob
from pippin.data.batches import micro_batches, padded_lengths, training_order
from pippin.plan.layout import PACKED

#: The micro-batches of an optimiser step, as row numbers.
Step = list[np.ndarray]


def steps_of(job: PlannedJob) -> list[Step]:
    """Every step of the epoch, in order."""
    plan, lengths = job.plan.batches, lengths_of(job)
    order = training_order(lengths, plan.batch_size.value, plan.batching.value, plan.order_seed, epoch=0)
    size, tokens, widths = plan.micro_batch.value, plan.micro_tokens.value, plan.pad_lengths.value
    return [micro_batches(rows, padded_lengths(lengths[rows], widths), size, tokens) for rows in order]


def heaviest_step(job: PlannedJob) -> Step:
    """The step that has the largest micro-batch, which comes first; of several the one with the most of them."""
    steps = [sorted(step, key=lambda part: -tokens_of(job, part)) for step in steps_of(job)]
    return max(steps, key=lambda step: (tokens_of(job, step[0]), len(step)))


def mean_tokens(job: PlannedJob) -> float:
    """Of a step, with padding."""
    steps = steps_of(job)
    return sum(tokens_of(job, part) for step in steps for part in step) / len(steps)


def tokens_of(job: PlannedJob, rows: np.ndarray) -> int:
    """Of training rows that go through the model together, with padding."""
    lengths = lengths_of(job)[rows]
    if job.plan.execution.layout.value == PACKED:
        return int(lengths.sum())
    return len(lengths) * int(padded_lengths(lengths.max(), job.plan.batches.pad_lengths.value))


def lengths_of(job: PlannedJob) -> np.ndarray:
    """Tokens of each training row."""
    assert job.rows.train is not None
    return job.rows.train.lengths
