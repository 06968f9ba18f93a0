"""The CPU."""

from __future__ import annotations

import sys
from pathlib import Path

from pippin.machine.backends.base import Backend
from pippin.machine.machine import Device
from pippin.machine.system import chip_name


class CpuBackend(Backend):
    kind = "cpu"
    packed_attention = "groups"
    clips_in_step = True
    slow_dropout = True

    def __init__(self, index: int | None = None):
        super().__init__(None)

    def devices(self) -> list[Device]:
        return [Device(self.kind, chip_name(), None, bf16=True)]

    def precision_problem(self, precision: str) -> str | None:
        if precision == "fp16":
            return "float16 training needs a GPU; on the CPU use --bf16 or neither"
        return None

    def memory_now(self) -> int | None:
        try:  # Linux: pages resident now
            import os

            return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, AttributeError):
            return self.memory_peak()

    def memory_peak(self) -> int | None:
        try:
            import resource
        except ImportError:
            return None
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
