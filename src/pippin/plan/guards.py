"""Known faults of the device that this job would meet, and the micro-batch that keeps clear of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pippin.data.batches import padded_lengths
from pippin.errors import PippinError
from pippin.machine.faults import hazards_of, most_rows
from pippin.machine.traits import DeviceTraits
from pippin.machine.work import Work
from pippin.plan.plan import NO_GUARDS, Choice
from pippin.recipe import Recipe


def describe_work(
    recipe: Recipe, work: Work, lengths: np.ndarray | None, pad_lengths: tuple[int, ...], batch: int
) -> Work:
    """What the job asks of its device, beside the model's part; ``lengths`` of the training rows, None for none."""
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


def choose_micro_batch(recipe: Recipe, batch: int, work: Work, traits: DeviceTraits, parts: int = 1) -> Choice[int]:
    """The rows that were asked for, or equal parts of them where the device cannot be trusted with so many.

    ``parts``: of a step, that go through the model separately anyway.
    """
    asked = min(asked_rows(recipe, batch), math.ceil(batch / parts))
    limit = most_rows(traits.mac, work)
    if limit is None:
        if parts > 1 and asked < asked_rows(recipe, batch):
            return Choice(asked, f"a step's rows in {parts} parts")
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
    return Choice(rows, f"not {asked}, since {why}; their gradients add up to the whole batch's")


def choose_guards(work: Work, traits: DeviceTraits) -> Choice[tuple[str, ...]]:
    """Which faults of the device are worked round in this job."""
    met = hazards_of(traits.mac, work)
    if not met:
        return NO_GUARDS
    said = "; ".join(f"{hazard.wrong} ({hazard.source})" for hazard in met)
    return Choice(tuple(hazard.name for hazard in met), f"worked around known faults of PyTorch: {said}")
