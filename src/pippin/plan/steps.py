"""How optimiser steps are run: as plain calls, or recorded once for each shape and replayed."""

from __future__ import annotations

import numpy as np

from pippin.data.batches import padded_lengths, plan_lengths, training_order
from pippin.machine.backends import get_backend
from pippin.plan.layout import PACKED
from pippin.plan.plan import Choice
from pippin.recipe import Recipe

EAGER, CAPTURED = "plain calls", "captured"
#: Fewer steps are over before a recording has paid.
_FEWEST_STEPS = 20
#: Most shapes that are recorded, the multiple of tokens that they come in, and the epochs that are looked at.
_MOST_SHAPES, _MULTIPLE, _EPOCHS = 3, 64, 5


def choose_step(recipe: Recipe, device: str, precision: str, layout: str, steps: int) -> Choice[str]:
    """Captured where the device can and nothing in the step needs Python."""
    if not get_backend(device).captures_steps:
        return Choice(EAGER, "this device has no recorded steps")
    reasons = {
        "rows are padded to many shapes": layout != PACKED,
        f"--optim {recipe.optim} cannot be recorded": recipe.optim != "adamw_torch_fused",
        "--fp16 looks at every gradient": precision == "fp16",
        "--gradient_checkpointing draws its random numbers twice": recipe.gradient_checkpointing,
        f"only {steps} steps": steps < _FEWEST_STEPS,
    }
    against = [reason for reason, holds in reasons.items() if holds]
    if against:
        return Choice(EAGER, against[0])
    return Choice(CAPTURED, "each shape is recorded once and replayed: the GPU does not wait for Python")


def choose_capacities(
    recipe: Recipe, lengths: np.ndarray | None, batch: int, micro_batch: int, batching: str, step: str
) -> Choice[tuple[int, ...]]:
    """The shapes of captured steps, in tokens: few, with little to fill up."""
    if step != CAPTURED or lengths is None:
        return Choice((), "any: steps are not recorded")
    totals = []
    for epoch in range(_EPOCHS):
        for rows in training_order(lengths, batch, batching, recipe.order_seed, epoch):
            parts = [rows[start : start + micro_batch] for start in range(0, len(rows), micro_batch)]
            totals += [lengths[part].sum() for part in parts if len(part) == micro_batch]
    if not totals:
        return Choice((), "fewer rows than a batch has")
    rounded = -(-np.array(totals) // _MULTIPLE) * _MULTIPLE
    planned = plan_lengths(rounded, _MOST_SHAPES)
    waste = 1 - np.sum(totals) / padded_lengths(rounded, planned).sum()
    return Choice(planned, f"tokens of a micro-batch, filled up: {waste:.0%} of the work")
