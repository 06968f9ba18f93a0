"""The CPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pippin.machine.drivers.base import Backend
from pippin.machine.machine import Device
from pippin.machine.power import battery_watts, package_joules
from pippin.machine.system import available_memory, chip_name

#: Of the memory that is free, the rest is left to other programs.
_SHARE = 0.8


class CpuBackend(Backend):
    kind = "cpu"
    packed_attention = "groups"
    clips_in_step = True
    saves_from_own_memory = True
    slow_dropout = True
    # As many at once as keep the processor busy (512 tokens of BERT-base, 1024 of MiniLM); more would only take memory.
    enough_numbers = 512 * 768

    def __init__(self, index: int | None = None):
        super().__init__(None)

    def devices(self) -> list[Device]:
        return [Device(self.kind, chip_name(), None, bf16=True)]

    def precision_problem(self, precision: str) -> str | None:
        if precision == "fp16":
            return "float16 training needs a GPU; on the CPU use --bf16 or neither"
        return None

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
            import os

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
        try:  # Linux: unlike the next, not that of the process that started this one
            lines = Path("/proc/self/status").read_text().splitlines()
            return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
        except (OSError, StopIteration):
            pass
        try:
            import resource
        except ImportError:
            return None
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
