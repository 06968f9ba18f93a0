"""How optimiser steps are run: as plain calls, or recorded once for each shape and replayed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from pippin.data.batches import few_capacities, padded_lengths, training_order
from pippin.machine.traits import DeviceTraits
from pippin.plan.facts import Rows
from pippin.plan.frozen import NOTHING
from pippin.plan.layout import PACKED
from pippin.plan.plan import NO_CAPACITIES, Choice, Compiled, Plan, StepKind
from pippin.recipe import Recipe

EAGER: Final = "plain calls"
CAPTURED: Final = "captured"
NEVER: Final = "never"
WHEN_IT_PAYS: Final = "when it pays"
#: Fewer steps are over before a recording has paid.
_FEWEST_STEPS = 20
#: Epochs whose batches are looked at to plan the shapes.
_EPOCHS = 5
#: Learnt tokens are given so much more room than the first epochs need, in multiples of this.
_SPARE, _TARGETS = 1.1, 64


def choose_step(
    recipe: Recipe,
    traits: DeviceTraits,
    precision: str,
    layout: str,
    steps: int,
    frozen: str = NOTHING,
    shards: int = 0,
    processes: int = 1,
) -> Choice[StepKind]:
    """Captured where the device can and nothing in the step needs Python."""
    if not traits.captures_steps:
        return Choice(EAGER, "this device cannot record steps")
    reasons = {
        "rows are padded to many shapes": layout != PACKED,
        f"--optim {recipe.optim} cannot be recorded": recipe.optim != "adamw_torch_fused",
        "--optim_state bf16 cannot be recorded": recipe.optim_state == "bf16",
        "--fp16 checks every gradient": precision == "fp16",
        "--gradient_checkpointing draws its random numbers twice": recipe.gradient_checkpointing,
        "a part of the model is frozen": frozen != NOTHING,
        "each shard's gradient is taken by itself": shards > 0,
        "several processes add up their gradients": processes > 1,
        f"only {steps} steps": steps < _FEWEST_STEPS,
    }
    against = [reason for reason, holds in reasons.items() if holds]
    if against:
        return Choice(EAGER, against[0])
    return Choice(CAPTURED, "each shape is recorded once and replayed, so the GPU never waits for Python")


def choose_compiling(recipe: Recipe, precision: str, step: str) -> Choice[Compiled]:
    """Allowed where it can pay; the run decides when it has seen its steps."""
    if recipe.torch_compile is False:
        return Choice(NEVER, "set by --torch_compile false")
    if step != CAPTURED:
        return Choice(NEVER, "only worth it for recorded steps")
    if precision != "bf16":
        return Choice(NEVER, f"torch's compiler cannot take the attention kernel of {precision}")
    return Choice(WHEN_IT_PAYS, "decided once the first steps are timed")


def choose_capacities(plan: Plan, lengths: np.ndarray | None) -> Choice[tuple[int, ...]]:
    """The shapes of captured steps, in tokens: few, with little to fill up."""
    if plan.execution.step.value != CAPTURED or lengths is None:
        return NO_CAPACITIES
    totals = [lengths[part].sum() for part in _whole_micro_batches(plan, lengths)]
    if not totals:
        return Choice((), "fewer rows than a batch has")
    planned = few_capacities(np.array(totals))
    waste = 1 - np.sum(totals) / padded_lengths(np.array(totals), planned).sum()
    return Choice(planned, f"tokens per micro-batch; {waste:.0%} of the work is fill")


def choose_target_capacities(plan: Plan, capacities: tuple[int, ...], rows: Rows) -> Choice[tuple[int, ...]]:
    """For each shape the most learnt tokens that a micro-batch of it has, with some to spare."""
    if not capacities or rows.lengths is None or rows.learnt is None:
        return NO_CAPACITIES
    most = dict.fromkeys(capacities, 0)
    for part in _whole_micro_batches(plan, rows.lengths):
        capacity = int(padded_lengths(rows.lengths[part].sum(), capacities))
        if capacity in most:
            most[capacity] = max(most[capacity], int(rows.learnt[part].sum()))
    room = tuple(min(capacity, -(-int(most[capacity] * _SPARE) // _TARGETS) * _TARGETS) for capacity in capacities)
    return Choice(room, "learnt tokens in each of these shapes")


def _whole_micro_batches(plan: Plan, lengths: np.ndarray) -> Iterator[np.ndarray]:
    """Those of the first epochs that have all of their rows."""
    size, batches = plan.batches.micro_batch.value, plan.batches
    for epoch in range(_EPOCHS):
        order = training_order(lengths, batches.batch_size.value, batches.batching.value, batches.order_seed, epoch)
        parts = (rows[start : start + size] for rows in order for start in range(0, len(rows), size))
        yield from (part for part in parts if len(part) == size)
