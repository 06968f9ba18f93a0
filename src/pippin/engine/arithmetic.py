"""What the last digits of a result depend on, beside the job itself."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version

import torch

from pippin.machine.drivers.base import Backend


def arithmetic(backend: Backend) -> dict[str, str]:
    """Releases, the processor's instructions, and how many threads share a sum."""
    return {
        "torch": torch.__version__,
        "transformers": version("transformers"),
        "processor": torch.backends.cpu.get_cpu_capability(),
        **({"threads": str(torch.get_num_threads())} if not backend.traits.is_gpu else {}),
    }


@contextmanager
def threads_of(before: Mapping[str, str] | None) -> Iterator[None]:
    """As many threads as a run began with, for the same sums; OMP_NUM_THREADS in the environment has the last word."""
    count = int((before or {}).get("threads", 0))
    if not count or count == torch.get_num_threads() or "OMP_NUM_THREADS" in os.environ:
        yield
        return
    own = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(own)
