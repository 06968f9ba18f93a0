"""The device's controls: install it, change what it pretends to be, look at what it counted."""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

from emulated_mps.settings import Settings, number

FALLBACK_VARIABLE = "PYTORCH_ENABLE_MPS_FALLBACK"
HIGH, LOW = "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO"

_native: Any = None
_settings = Settings()
_fallback = False
_missing: frozenset[str] = frozenset()
_ratios = (1.7, 1.4)


@dataclass(frozen=True)
class Memory:
    """Bytes, as the device counts them."""

    allocated: int
    """Held by tensors."""
    peak: int
    driver: int
    """Held by tensors, by buffers kept for reuse and by compiled graphs."""
    driver_peak: int
    graphs: int
    """How many were compiled: one for each combination of operator, shapes and dtypes."""
    recommended: int
    limit: int
    """Where it is out of memory."""


@dataclass(frozen=True)
class Fallback:
    """What an operator without a kernel cost."""

    calls: int
    seconds: float


def install(settings: Settings | None = None) -> None:
    """Put the device into this process. There is no way back, so that tests need a process of their own."""
    global _native, _fallback, _ratios
    import torch

    if _native is not None:
        raise RuntimeError("the emulated mps device is installed already; change it with pretend().")
    if sys.platform == "darwin" or torch.backends.mps.is_built():
        raise RuntimeError("this torch has the real mps device: the emulated one is for computers without it.")
    from emulated_mps import torch_patches
    from emulated_mps.build import library

    _fallback = _fallback_variable()
    _ratios, refusal = _watermarks()
    _native = _declared(ctypes.CDLL(str(library())))
    _native.emulated_mps_install()
    _native.emulated_mps_refuse_memory(refusal.encode())
    atexit.register(_native.emulated_mps_finish)
    torch_patches.patch_once()
    _apply(settings or Settings())


def is_installed() -> bool:
    return _native is not None


def settings() -> Settings:
    """What the device pretends to be now."""
    return _settings


@contextmanager
def pretend(fallback: bool | None = None, **changes: Any) -> Iterator[Settings]:
    """Be part of another Mac for a while: `with pretend(release="2.8.0", chip="Apple M1"): …`.

    `fallback` stands for the variable that a real process reads once; here it can change, for tests.
    """
    global _fallback
    before, fallback_before = _settings, _fallback
    _fallback = _fallback if fallback is None else fallback
    _apply(replace(before, **changes))
    try:
        yield _settings
    finally:
        _fallback = fallback_before
        _apply(before)


@contextmanager
def missing(*operators: str, fallback: bool = False) -> Iterator[None]:
    """Let operators (`aten::gelu.out`) be missing, whatever the release has."""
    global _missing
    before, _missing = _missing, frozenset(operators)
    try:
        with pretend(fallback=fallback):
            yield
    finally:
        _missing = before
        _apply(_settings)


@contextmanager
def memory_limit(more: int) -> Iterator[None]:
    """Run out of memory when so many bytes more than now are held."""
    forget_graphs()
    _native.emulated_mps_set_memory(memory().driver + more, 1.0, 1.0, _largest_buffer(_settings))
    try:
        yield
    finally:
        _apply_memory(_settings)


@contextmanager
def calls() -> Iterator[Counter[str]]:
    """Count the operators that arrive at the device; the counter is filled at the end."""
    counted: Counter[str] = Counter()
    _native.emulated_mps_record(True)
    try:
        yield counted
    finally:
        for line in _native.emulated_mps_calls().decode().splitlines():
            name, count = line.split("\t")
            counted[name] = int(count)
        _native.emulated_mps_record(False)


def fallbacks() -> dict[str, Fallback]:
    """The operators that ran on the CPU since the start."""
    found = {}
    for line in _native.emulated_mps_fallbacks().decode().splitlines():
        name, count, seconds = line.split("\t")
        found[name] = Fallback(int(count), float(seconds))
    return found


def forget_fallbacks() -> None:
    """Count from zero, and warn again at the next."""
    _native.emulated_mps_forget_fallbacks()


def memory() -> Memory:
    return Memory(*(_native.emulated_mps_count(which) for which in range(7)))


def reset_peak() -> None:
    _native.emulated_mps_reset_peak()


def forget_graphs() -> None:
    """Give back all graphs and kept buffers, in every release; so that one test does not fill another's memory."""
    _native.emulated_mps_forget_graphs()


def non_blocking_copies() -> int:
    """Copies between the devices that were asked not to wait: on a Mac they can carry wrong values."""
    return int(_native.emulated_mps_count(7))


def _apply(settings: Settings) -> None:
    global _settings
    from emulated_mps import torch_patches
    from emulated_mps.coverage import operators

    found = operators(settings.torch, version("torch"), _missing)
    _native.emulated_mps_forget_coverage()
    for name, coverage in found.coverage.items():
        _native.emulated_mps_set_coverage(name.encode(), coverage)
    if found.own_kernels != _native.own_kernels:
        _native.emulated_mps_set_own_kernels(" ".join(found.own_kernels).encode())
        _native.own_kernels = found.own_kernels
    _native.emulated_mps_set_fallback(_fallback)
    _native.emulated_mps_set_system(number(settings.torch), number(settings.macos), settings.bugs)
    _apply_memory(settings)
    torch_patches.apply(settings)
    _settings = settings


def _apply_memory(settings: Settings) -> None:
    _native.emulated_mps_set_memory(settings.recommended, *_ratios, _largest_buffer(settings))


def _largest_buffer(settings: Settings) -> int:
    """Metal gives no buffer larger than about half of the memory."""
    return int(settings.memory * 2**30 / 2)


def _fallback_variable() -> bool:
    """Read once, as the real library does; a word that is no number stops it there too."""
    value = os.environ.get(FALLBACK_VARIABLE, "")
    try:
        return int(value or 0) != 0
    except ValueError:
        raise RuntimeError(f"{FALLBACK_VARIABLE}={value}: stoi: no conversion") from None


def _watermarks() -> tuple[tuple[float, float], str]:
    """The two ratios, and why the device does not start with them: said when memory is first asked for, as there."""
    try:
        high, low = float(os.environ.get(HIGH) or 1.7), float(os.environ.get(LOW) or 1.4)
    except ValueError:
        return (1.7, 1.4), "invalid watermark ratio: stod: no conversion"
    refusal = ""
    if not 0 <= low <= (high or 2):
        refusal = f"invalid low watermark ratio {low:g}"
    if not 0 <= high <= 2:
        refusal = f"invalid high watermark ratio {high:g}"
    return (high, low), refusal


def _declared(native: Any) -> Any:
    c = ctypes
    signatures = {
        "set_system": ([c.c_int] * 3, None),
        "set_fallback": ([c.c_bool], None),
        "set_memory": ([c.c_int64, c.c_double, c.c_double, c.c_int64], None),
        "refuse_memory": ([c.c_char_p], None),
        "set_coverage": ([c.c_char_p, c.c_int], None),
        "set_own_kernels": ([c.c_char_p], None),
        "record": ([c.c_bool], None),
        "calls": ([], c.c_char_p),
        "fallbacks": ([], c.c_char_p),
        "count": ([c.c_int], c.c_int64),
    }
    for name, (arguments, result) in signatures.items():
        function = getattr(native, f"emulated_mps_{name}")
        function.argtypes, function.restype = arguments, result
    native.own_kernels = ()
    return native
