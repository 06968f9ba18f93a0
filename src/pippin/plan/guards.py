"""Known faults of the device that this job would meet, and the micro-batch that keeps clear of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from pippin.data.batches import padded_lengths
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.work import Work
from pippin.models.attention import work_of
from pippin.plan.plan import NO_GUARDS, Choice
from pippin.recipe import Recipe


def describe_work(
    recipe: Recipe,
    config: Any,
    precision: str,
    lengths: np.ndarray | None,
    pad_lengths: tuple[int, ...],
    batch: int,
) -> Work:
    """What the job asks of its device; ``lengths`` are those of the training rows, None where nothing is trained."""
    work = work_of(config, precision)
    if lengths is None:
        return work
    return replace(
        work,
        trains=True,
        rows=min(asked_rows(recipe, batch), len(lengths)),
        length=int(padded_lengths(lengths.max(), pad_lengths)),
        recomputes=recipe.gradient_checkpointing,
    )


def asked_rows(recipe: Recipe, batch: int) -> int:
    """Rows of a micro-batch, as far as the recipe says."""
    return max(1, batch // recipe.gradient_accumulation_steps)


def choose_micro_batch(recipe: Recipe, batch: int, work: Work, device: str) -> Choice[int]:
    """The rows that were asked for, or equal parts of them where the device cannot be trusted with so many."""
    asked = asked_rows(recipe, batch)
    limit = get_backend(device).most_rows(work)
    if limit is None:
        if recipe.gradient_accumulation_steps == 1:
            return Choice(asked, "the whole batch at once")
        return Choice(asked, f"{recipe.gradient_accumulation_steps} micro-batches give the whole batch's gradient")
    most, why = limit
    if most < 1:
        raise PippinError(
            f"rows of {work.length} tokens are too long for this device: {why}. "
            "Lower --max_seq_length, or train on the CPU with --use_cpu."
        )
    rows = math.ceil(work.rows / math.ceil(work.rows / most))  # more than there are can be asked for
    return Choice(rows, f"not {asked}, since {why}; together they give the whole batch's gradient")


def choose_guards(work: Work, device: str) -> Choice[tuple[str, ...]]:
    """Which faults of the device are worked round in this job."""
    guards = get_backend(device).guards(work)
    if not guards:
        return NO_GUARDS
    return Choice(tuple(guards), "worked round, PyTorch's faults here: " + "; ".join(guards.values()))
