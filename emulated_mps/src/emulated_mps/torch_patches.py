"""What is decided in torch's Python code, or when torch is compiled, and so cannot be answered by the library."""

from __future__ import annotations

import platform
import warnings
from types import ModuleType
from typing import Any

import torch

from emulated_mps.settings import Settings, number

#: What a release has no function for, it has no attribute for either: the release that brought each.
#: torch's own Python code needs torch.accelerator (2.6), and for it torch.mps.is_available (2.5) and device_count
#: (2.4): these stay.
_SINCE: dict[ModuleType, dict[str, int]] = {
    torch.mps: {
        "Event": 201, "event": 201, "profiler": 201, "recommended_max_memory": 205, "compile_shader": 207,
        "load_metallib": 213,
    },
    torch.backends.mps: {"is_macos_or_newer": 203, "get_name": 209, "get_core_count": 209},
    torch.accelerator: {
        "memory_allocated": 209, "max_memory_allocated": 209, "memory_reserved": 209, "max_memory_reserved": 209,
        "memory_stats": 209, "reset_peak_memory_stats": 209, "reset_accumulated_memory_stats": 209,
    },
}  # fmt: skip
#: torch.accelerator's counters of memory work with the device from this release on.
_COUNTERS_SINCE = 213
_AUTOCAST_SINCE = 205

_hidden: list[tuple[Any, str, Any]] = []
_current = Settings()
_real_version = torch.__version__


def patch_once() -> None:
    """The patches that hold for every setting."""
    torch._C._has_mps = True
    torch.has_mps = True
    torch._C._mps_get_name = lambda: _current.chip
    torch._C._mps_get_core_count = lambda: _current.cores
    platform.mac_ver = lambda *_: (_current.macos, ("", "", ""), "arm64")
    _patch_storage()
    _patch_autocast()


def apply(settings: Settings) -> None:
    """Show the functions, the version and the chip of these settings."""
    global _current
    _current = settings
    torch.__version__ = type(_real_version)(settings.release) if settings.release else _real_version
    while _hidden:
        module, name, function = _hidden.pop()
        setattr(module, name, function)
    release = number(settings.torch)
    for module, functions in _SINCE.items():
        for name, since in functions.items():
            if release < since:
                _hidden.append((module, name, getattr(module, name)))
                delattr(module, name)
            elif module is torch.accelerator and release < _COUNTERS_SINCE:
                _hidden.append((module, name, getattr(module, name)))
                setattr(module, name, _no_counters)
    for function in vars(torch.backends.mps).values():
        if hasattr(function, "cache_clear"):
            function.cache_clear()


def _no_counters(*_: object, **__: object) -> int:
    raise RuntimeError("Allocator for mps is not a DeviceAllocator.")


def _patch_storage() -> None:
    """The constructor of untyped storages chooses among the devices that torch was compiled for."""
    original = torch.UntypedStorage.__new__

    def new(cls: type, *arguments: Any, device: Any = None, **others: Any) -> Any:
        if device is None or torch.device(device).type != "mps":
            return original(cls, *arguments, **({"device": device} if device is not None else {}), **others)
        content = arguments[0] if arguments else 0
        if isinstance(content, int):
            return torch.empty(content, dtype=torch.uint8, device="mps").untyped_storage()
        return torch.tensor(list(content), dtype=torch.uint8, device="mps").untyped_storage()

    torch.UntypedStorage.__new__ = staticmethod(new)


def _patch_autocast() -> None:
    """Whether there is autocast, and for which dtypes, by release."""
    is_available, original = torch._C._is_autocast_available, torch.autocast.__init__

    def is_autocast_available(device_type: str) -> bool:
        return is_available(device_type) and (device_type != "mps" or number(_current.torch) >= _AUTOCAST_SINCE)

    def init(self: Any, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: Any = None) -> None:
        refusal = _autocast_refusal(dtype or torch.float16) if device_type == "mps" and enabled else ""
        if refusal:
            warnings.warn(refusal, stacklevel=2)
        original(self, device_type, dtype, enabled and not refusal, cache_enabled)

    torch._C._is_autocast_available = is_autocast_available
    torch.autocast.__init__ = init


def _autocast_refusal(dtype: torch.dtype) -> str:
    """Why autocast switches itself off where the installed torch would not."""
    release, macos = number(_current.torch), number(_current.macos)
    if release == 205 and dtype is not torch.float16:
        # The text named the wrong dtype.
        return (
            "In MPS autocast, but the target dtype is not supported. Disabling autocast.\n"
            "MPS Autocast only supports dtype of torch.bfloat16 currently."
        )
    if 206 <= release < 213 and dtype is torch.bfloat16 and macos < 1400:
        return (
            "In MPS autocast, but the target dtype torch.bfloat16 is not supported on macOS versions below 14. "
            "Disabling autocast."
        )
    return ""
