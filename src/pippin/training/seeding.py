"""One seed for Python, numpy, torch and the device."""

from __future__ import annotations

import random

import numpy as np
import torch

from pippin.machine.backends.base import Backend


def seed_everything(seed: int, backend: Backend, deterministic: bool = False) -> None:
    """Seed every generator that training draws from."""
    random.seed(seed)
    np.random.seed(seed)
    backend.seed(seed)
    if deterministic:
        torch.use_deterministic_algorithms(True)
