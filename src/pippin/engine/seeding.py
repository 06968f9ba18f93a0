"""What a result depends on beside the job: seeds, deterministic kernels, and the arithmetic of the last digits."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version

import numpy as np
import torch

from pippin.machine.drivers.base import Backend
from pippin.plan.plan import Plan


def seed_everything(seed: int, backend: Backend) -> None:
    random.seed(seed)
    np.random.seed(seed)
    backend.seed(seed)


@contextmanager
def conditions(plan: Plan, backend: Backend, before: Mapping[str, str] | None = None) -> Iterator[None]:
    """All that a job's digits depend on: the threads that it began with, its kernels, and the arithmetic."""
    with (
        threads_of(before),
        deterministic_kernels(plan.execution.full_determinism, backend),
        backend.quick_arithmetic(),
    ):
        yield


@contextmanager
def deterministic_kernels(wanted: bool, backend: Backend) -> Iterator[None]:
    """Kernels that give the same numbers every time, for as long as the context lasts."""
    if not wanted:
        yield
        return
    before = torch.are_deterministic_algorithms_enabled()
    backend.prepare_deterministic()
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)


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
