"""Which device and which precision, and why."""

from __future__ import annotations

import os

from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.machine import Device, Machine
from pippin.plan.plan import Choice
from pippin.recipe import Recipe


def choose_device(recipe: Recipe, machine: Machine) -> Choice[str]:
    """The device asked for, or the first one that is there."""
    chosen = _asked_or_best(recipe, machine)
    processes = os.environ.get("WORLD_SIZE", "1")  # set by torchrun and its like
    if processes.isdigit() and int(processes) > 1:
        problem = get_backend(chosen.value).several_processes_problem()
        raise PippinError(f"this was started as {processes} processes (WORLD_SIZE), but {problem}.")
    return chosen


def _asked_or_best(recipe: Recipe, machine: Machine) -> Choice[str]:
    if recipe.use_cpu:
        return Choice("cpu", "asked for by --use_cpu")
    if recipe.device:
        kind, _, index = recipe.device.partition(":")
        present = [device for device in machine.devices if device.kind == kind]
        if not present:
            others = ", ".join(dict.fromkeys(device.kind for device in machine.devices))
            raise PippinError(f"--device {recipe.device}: {get_backend(kind).why_missing()}. Here there is: {others}.")
        if index and int(index) >= len(present):
            raise PippinError(f"--device {recipe.device}: there are only {len(present)}, numbered from 0.")
        return Choice(recipe.device, f"asked for by --device: {present[int(index or 0)].name}")
    best = machine.devices[0]
    if best.kind == "cpu":
        return Choice("cpu", f"no GPU that torch can use; {machine.cpu_cores} cores")
    return Choice(best.kind, f"{best.name} is here")


def choose_precision(recipe: Recipe, machine: Machine, device: str) -> Choice[str]:
    """What was asked for, refused where the device cannot; else what the device is made for."""
    asked = "bf16" if recipe.bf16 else "fp16" if recipe.fp16 else None
    backend = get_backend(device)
    if asked is not None:
        problem = backend.precision_problem(asked)
        if problem:
            raise PippinError(f"--{asked}: {problem}.")
        return Choice(asked, f"asked for by --{asked}; weights stay fp32")
    if recipe.tf32:
        return Choice("fp32", "asked for by --tf32: matrix products are rounded to TF32")
    if recipe.bf16 is False:
        return Choice("fp32", "asked for by --bf16 false")
    if backend.bf16_by_default and _device(machine, device).bf16:
        return Choice("bf16", "what this GPU is fast in; weights stay fp32. --bf16 false computes all in fp32")
    return Choice("fp32", "exact, and the default")


def _device(machine: Machine, name: str) -> Device:
    kind, _, index = name.partition(":")
    return [device for device in machine.devices if device.kind == kind][int(index or 0)]
