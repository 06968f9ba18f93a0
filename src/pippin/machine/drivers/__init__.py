"""One backend per device. A backend is the only code that knows its device's name and habits."""

from __future__ import annotations

import os
import sys
from importlib import import_module

from pippin.errors import PippinError, nearest
from pippin.machine.drivers.base import Backend
from pippin.machine.traits import CPU, CUDA, MPS

FALLBACK_VARIABLE = "PYTORCH_ENABLE_MPS_FALLBACK"

#: In the order in which a job prefers them.
_MODULES = {
    MPS: ("pippin.machine.drivers.mps", "MpsBackend"),
    CUDA: ("pippin.machine.drivers.cuda", "CudaBackend"),
    CPU: ("pippin.machine.drivers.cpu", "CpuBackend"),
}
#: Their names.
DEVICES = tuple(_MODULES)


def get_backend(device: str) -> Backend:
    """The backend of a device name such as `cpu` or `cuda:1`."""
    kind, _, index = device.partition(":")
    module, name = _MODULES[kind]
    return getattr(import_module(module), name)(int(index) if index else None)


def all_backends() -> list[Backend]:
    return [get_backend(kind) for kind in _MODULES]


def check_device_name(device: str) -> None:
    """Refuse a name that no backend has. Needs no torch."""
    kind, _, index = device.partition(":")
    if kind not in _MODULES or (index and not index.isdigit()):
        raise PippinError(
            f"--device {device}: there is no such device; choose from {', '.join(_MODULES)}."
            + nearest(kind, list(_MODULES), "--device ")
        )


def is_fallback_value(text: str) -> bool:
    """Whether torch can read this value of the fallback variable; with another one it does not start."""
    try:
        int(text)
    except ValueError:
        return False
    return True


def prepare_environment(mps_fallback: bool = True) -> str | None:
    """Set what torch reads once, when it is imported. Returns what to tell the user where it is too late for that."""
    # Forked children of a tokenizer's threads only produce warnings: Pippin forks none.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    found, wanted = os.environ.get(FALLBACK_VARIABLE) or "0", "1" if mps_fallback else "0"
    if not is_fallback_value(found):
        raise PippinError(
            f"{FALLBACK_VARIABLE}={found}: torch accepts only a number there. Type: unset {FALLBACK_VARIABLE}, and "
            "use --mps_fallback instead."
        )
    os.environ[FALLBACK_VARIABLE] = wanted
    too_late = "torch" in sys.modules and bool(int(found)) != mps_fallback
    if not too_late or sys.platform != "darwin":
        return None
    return (
        f"{FALLBACK_VARIABLE}={wanted} comes too late: torch is already imported. Put this line before the first "
        f"import of torch: import os; os.environ['{FALLBACK_VARIABLE}'] = '{wanted}'"
    )
