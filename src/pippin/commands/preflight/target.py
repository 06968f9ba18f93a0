"""The computer that a forecast is for: this one, a Mac by its chip, or any that was described elsewhere."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pippin.errors import PippinError
from pippin.machine.check import dotted
from pippin.machine.chips import CHIPS, Chip, find_chip, gpu_budget
from pippin.machine.faults import MacFacts
from pippin.machine.machine import Machine
from pippin.machine.releases import macos_floor
from pippin.machine.traits import CPU, apple_gpu, traits_of
from pippin.plan.device import choose_device
from pippin.recipe import Recipe


@dataclass(frozen=True)
class Target:
    name: str
    """For people."""
    chip: Chip | None
    """None where its speed is not known."""
    is_here: bool
    machine: Machine = field(repr=False)

    @property
    def macos(self) -> str:
        """Empty where it is no Mac."""
        return self.machine.release if self.machine.system == "Darwin" else ""

    @property
    def description(self) -> dict[str, Any]:
        """As plain data."""
        chip = self.chip
        return {
            "name": self.name,
            "torch": self.machine.torch,
            "macos": self.macos or None,
            "memory_bytes": self.machine.memory_bytes,
            "chip": chip.name if chip else None,
            "gpu_cores": chip.gpu_cores if chip else None,
            "is_here": self.is_here,
        }


def target_of(machine: Machine, is_here: bool, recipe: Recipe) -> Target:
    """A computer as it was found, here or elsewhere, with the device that the recipe gets there."""
    device, chip = machine.device(choose_device(recipe, machine).value), None
    with suppress(PippinError):  # a virtual machine, or newer than the table
        chip = find_chip(device.mac.chip) if device.mac else None
    name = f"this computer ({device.name})" if is_here else f"{device.name}, {machine.cpu_cores} CPU cores"
    return Target(name, chip, is_here, machine)


def some_mac(
    chip: str, here: Machine, cores: int | None = None, memory: int | None = None, macos: str = "", torch: str = ""
) -> Target:
    """A Mac by its chip; ``memory`` in GB. What is left out is the least that is sold, and what torch needs."""
    found = find_chip(chip)
    if cores is not None:
        if not 1 <= cores <= found.gpu_cores:
            raise PippinError(f"--gpu_cores {cores}: {found.name} has at most {found.gpu_cores} GPU cores.")
        found = found.with_cores(cores)
    if memory is None:
        memory = found.memory[0]
    if memory not in found.memory:
        sold = ", ".join(map(str, found.memory))
        raise PippinError(f"--memory {memory}: {found.name} comes with {sold} GB.")
    torch = torch or here.torch.partition("+")[0]
    macos = macos or dotted(macos_floor(torch))
    size = memory * 2**30
    gpu = apple_gpu(MacFacts(torch, macos, found.name), gpu_budget(size), budget_bytes=gpu_budget(size))
    machine = Machine(
        system="Darwin",
        release=macos,
        architecture="arm64",
        python=platform.python_version(),
        torch=torch,
        transformers=here.transformers,
        cpu_cores=8,
        memory_bytes=size,
        devices=(gpu, traits_of(CPU, found.name)),
    )
    return Target(f"{found.name}, {found.gpu_cores} GPU cores, {memory} GB", found, is_here=False, machine=machine)


def smallest_macs(needed: int) -> Iterator[str]:
    """For each kind of chip the Mac with the least memory whose GPU may hold so many bytes; only the smallest size."""
    enough = smallest_memory(sorted({size for chip in CHIPS.values() for size in chip.memory}), needed)
    for chip in CHIPS.values():
        if enough in chip.memory:
            yield f"{chip.name} with {enough} GB"


def smallest_memory(sizes: Iterable[int], needed: int) -> int | None:
    """Of these sizes in GB, the first of which a GPU may take so many bytes."""
    return next((size for size in sizes if gpu_budget(size * 2**30) >= needed), None)
