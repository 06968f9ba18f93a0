"""The Machine: what this computer is, as plain data, so that it can be saved, sent and judged elsewhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """One device that torch can train on."""

    kind: str
    """The backend's name."""
    name: str
    """What it is called by its maker."""
    memory_bytes: int | None
    """Memory that a job may use there; None when unknown."""
    bf16: bool
    """Whether bfloat16 works on it, and has units for it."""


@dataclass(frozen=True)
class Machine:
    system: str
    release: str
    architecture: str
    python: str
    torch: str
    transformers: str
    cpu_cores: int
    memory_bytes: int | None
    devices: tuple[Device, ...]
    """In the order in which Pippin prefers them."""
