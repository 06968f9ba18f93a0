"""Modules that answer with something known instead of computing it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def answering(module: torch.nn.Module, answer: Callable[..., Any]) -> Iterator[None]:
    """A module that calls this function instead of its own, while the context lasts."""
    module.forward = answer
    try:
        yield
    finally:
        del module.forward
