"""The CPU."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from pippin.machine.drivers.base import Backend
from pippin.machine.system import available_memory, battery_watts, chip_name, package_joules
from pippin.machine.traits import CPU, TRAITS, DeviceTraits

#: Of the memory that is free, the rest is left to other programs.
_SHARE = 0.8


class CpuBackend(Backend):
    kind = CPU
    traits = TRAITS[CPU]
    clips_in_step = True
    slow_dropout = True

    def __init__(self, index: int | None = None):
        super().__init__(None)

    def devices(self) -> list[DeviceTraits]:
        return [replace(self.traits, name=chip_name())]

    @contextmanager
    def quick_arithmetic(self) -> Iterator[None]:
        # An optimiser's moments of rare words fade below 1e-38, where each product takes a hundred times longer.
        # Threads take this over from the one that starts them.
        import torch

        torch.set_flush_denormal(True)
        try:
            yield
        finally:
            torch.set_flush_denormal(False)

    def memory_now(self) -> int | None:
        try:  # Linux: pages resident now
            return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, AttributeError):
            return self.memory_peak()

    def memory_budget(self) -> int | None:
        free = available_memory()
        return None if free is None else (self.memory_now() or 0) + int(_SHARE * free)

    def forget_peak(self) -> None:
        with suppress(OSError):  # Linux alone has it
            Path("/proc/self/clear_refs").write_text("5")

    def watts(self) -> float | None:
        return battery_watts() if sys.platform == "darwin" else None

    def joules(self) -> float | None:
        return package_joules()

    def memory_peak(self) -> int | None:
        with suppress(OSError, StopIteration):  # Linux: unlike the next, not that of the process that started this one
            lines = Path("/proc/self/status").read_text().splitlines()
            return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        try:
            import resource
        except ImportError:
            return None
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
