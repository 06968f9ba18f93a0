"""Which device and which precision, and why."""

from __future__ import annotations

from pippin.errors import PippinError
from pippin.machine.machine import Machine
from pippin.machine.traits import DeviceTraits
from pippin.plan.plan import Choice, Precision
from pippin.recipe import Recipe


def choose_device(recipe: Recipe, machine: Machine) -> Choice[str]:
    """The device asked for, or the first one that is there."""
    best = machine.devices[0]
    if recipe.use_cpu:
        chosen = Choice(machine.devices[-1].kind, "set by --use_cpu")
    elif recipe.device:
        chosen = Choice(recipe.device, f"set by --device: {machine.device(recipe.device).name}")
    elif best.is_gpu:
        chosen = Choice(best.kind, best.name)
    else:
        chosen = Choice(best.kind, f"no GPU that torch can use; {machine.cpu_cores} CPU cores")
    return chosen


def choose_precision(recipe: Recipe, traits: DeviceTraits) -> Choice[Precision]:
    """What was asked for, refused where the device cannot; else what the device is made for."""
    asked: Precision | None = "bf16" if recipe.bf16 else "fp16" if recipe.fp16 else None
    if asked is not None:
        if problem := traits.precision_problems.get(asked):
            raise PippinError(f"--{asked}: {problem}.")
        return Choice(asked, f"set by --{asked}; weights stay fp32")
    if recipe.tf32:
        return Choice("fp32", "set by --tf32: matrix products are rounded to TF32")
    if recipe.bf16 is False:
        return Choice("fp32", "set by --bf16 false")
    if traits.bf16_by_default and traits.bf16:
        return Choice("bf16", "fast on this GPU; weights stay fp32. --bf16 false computes everything in fp32")
    return Choice("fp32", "full precision, the default")
