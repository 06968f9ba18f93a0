"""The computer that a forecast is for: this one, or a Mac that is only described."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from pippin.errors import PippinError
from pippin.machine.check import dotted
from pippin.machine.chips import CHIPS, Chip, find_chip, gpu_budget
from pippin.machine.drivers.mps import MpsBackend, bfloat16_problem, planning_for
from pippin.machine.faults import MacFacts
from pippin.machine.machine import Device, Machine
from pippin.machine.releases import macos_floor


@dataclass(frozen=True)
class Target:
    """What a forecast must know of a computer."""

    name: str
    """For people."""
    torch: str
    macos: str
    """Empty where it is no Mac."""
    memory: int | None
    """Bytes of the whole computer."""
    chip: Chip | None
    """None where its speed is not known."""
    is_here: bool
    machine: Machine = field(repr=False)

    def planned_for(self) -> AbstractContextManager[Any]:
        """Within, plans are made for this computer."""
        if self.is_here or self.chip is None or self.memory is None:
            return nullcontext()
        return planning_for(MacFacts(self.torch, self.macos, self.chip.name), gpu_budget(self.memory))

    @property
    def description(self) -> dict[str, Any]:
        """As plain data."""
        chip = self.chip
        return {
            "name": self.name,
            "torch": self.torch,
            "macos": self.macos or None,
            "memory_bytes": self.memory,
            "chip": chip.name if chip else None,
            "gpu_cores": chip.gpu_cores if chip else None,
            "is_here": self.is_here,
        }


def this_computer(machine: Machine) -> Target:
    """As it was found."""
    device = machine.devices[0]
    return Target(
        name=f"this computer ({device.name})",
        torch=machine.torch,
        macos=machine.release if machine.system == "Darwin" else "",
        memory=machine.memory_bytes,
        chip=_chip_here(device) if device.kind == MpsBackend.kind else None,
        is_here=True,
        machine=machine,
    )


def some_mac(
    chip: str, here: Machine, cores: int | None = None, memory: int | None = None, macos: str = "", torch: str = ""
) -> Target:
    """A Mac by its chip; ``memory`` in GB. What is left out is the least that is sold, and what torch needs."""
    found = find_chip(chip)
    if cores is not None:
        if not 1 <= cores <= found.gpu_cores:
            raise PippinError(f"--gpu_cores {cores}: {found.name} has at most {found.gpu_cores}.")
        found = found.with_cores(cores)
    if memory is None:
        memory = found.memory[0]
    if memory not in found.memory:
        sold = ", ".join(map(str, found.memory))
        raise PippinError(f"--memory {memory}: {found.name} is sold with {sold} GB.")
    torch = torch or here.torch.partition("+")[0]
    macos = macos or dotted(macos_floor(torch))
    size = memory * 2**30
    return Target(
        name=f"{found.name}, {found.gpu_cores} GPU cores, {memory} GB",
        torch=torch,
        macos=macos,
        memory=size,
        chip=found,
        is_here=False,
        machine=Machine(
            system="Darwin",
            release=macos,
            architecture="arm64",
            python=platform.python_version(),
            torch=torch,
            transformers=here.transformers,
            cpu_cores=8,
            memory_bytes=size,
            devices=(
                Device(
                    MpsBackend.kind, f"{found.name} GPU", gpu_budget(size), bf16=bfloat16_problem(macos, torch) is None
                ),
                Device("cpu", found.name, None, bf16=True),
            ),
        ),
    )


def smallest_macs(needed: int) -> Iterator[str]:
    """For each kind of chip the Mac with the least memory whose GPU may hold so many bytes; only the smallest size."""
    sizes = sorted({size for chip in CHIPS.values() for size in chip.memory})
    enough = next((size for size in sizes if gpu_budget(size * 2**30) >= needed), None)
    for chip in CHIPS.values():
        if enough in chip.memory:
            yield f"{chip.name} with {enough} GB"


def _chip_here(device: Device) -> Chip | None:
    try:
        return find_chip(device.name.removesuffix(" GPU"))
    except PippinError:  # a virtual machine, or newer than the table
        return None
