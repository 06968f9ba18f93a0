"""One seed for Python, numpy, torch and the device; deterministic kernels where they are asked for."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from pippin.machine.drivers.base import Backend


def seed_everything(seed: int, backend: Backend) -> None:
    """Seed every generator that training draws from."""
    random.seed(seed)
    np.random.seed(seed)
    backend.seed(seed)


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
