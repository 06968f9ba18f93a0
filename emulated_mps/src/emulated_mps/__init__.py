"""A stand-in for the Apple GPU on Linux: tensors whose device is `mps`, with the real one's rules.

Set EMULATED_MPS=1 before torch is imported, or call `install()` before the first backward pass:

    EMULATED_MPS=1 python train.py
    EMULATED_MPS="release=2.8.0, memory=8, chip=Apple M1" python train.py
"""

from emulated_mps.device import (
    Fallback,
    Memory,
    calls,
    fallbacks,
    forget_fallbacks,
    forget_graphs,
    install,
    is_installed,
    memory,
    memory_limit,
    missing,
    non_blocking_copies,
    pretend,
    reset_peak,
    settings,
)
from emulated_mps.faults import lost_write, wrong
from emulated_mps.settings import Settings

__all__ = [
    "Fallback",
    "Memory",
    "Settings",
    "calls",
    "fallbacks",
    "forget_fallbacks",
    "forget_graphs",
    "install",
    "is_installed",
    "lost_write",
    "memory",
    "memory_limit",
    "missing",
    "non_blocking_copies",
    "pretend",
    "reset_peak",
    "settings",
    "wrong",
]
