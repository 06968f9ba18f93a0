"""The only place that asks the operating system and torch what this computer is."""

from __future__ import annotations

import os
import platform
import shutil
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from pippin.machine import system
from pippin.machine.backends import all_backends
from pippin.machine.machine import MISSING, Device, Machine

_PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "pyarrow", "scikit-learn", "datasets")
#: Environment variables that change what a run does.
_VARIABLES = (
    "PYTORCH_ENABLE_MPS_FALLBACK",
    "PYTORCH_MPS_HIGH_WATERMARK_RATIO",
    "PYTORCH_MPS_LOW_WATERMARK_RATIO",
    "CUDA_VISIBLE_DEVICES",
    "HF_HUB_OFFLINE",
    "HF_HOME",
    "OMP_NUM_THREADS",
)


def probe() -> Machine:
    """Describe this computer: what a job needs to know. Imports torch where it is installed."""
    return Machine(
        system=platform.system(),
        release=platform.mac_ver()[0] or platform.release(),
        architecture=platform.machine(),
        python=platform.python_version(),
        torch=package_version("torch"),
        transformers=package_version("transformers"),
        cpu_cores=os.cpu_count() or 1,
        memory_bytes=system.total_memory(),
        devices=_devices(),
    )


def probe_thoroughly() -> Machine:
    """The same with all that the doctor asks for: a small operation on each device, packages, power, disk."""
    plain = probe()
    facts = plain.__dict__ | {
        "devices": tuple(_tried(device) for device in plain.devices),
        "native_architecture": system.native_architecture(),
        "chip": system.chip_name(),
        "torch_builds": _torch_builds(),
        "packages": {name: _package_state(name) for name in _PACKAGES},
        "variables": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        "in_conda": "CONDA_PREFIX" in os.environ,
        "swap_used_bytes": system.swap_used(),
        "free_disk_bytes": shutil.disk_usage(".").free,
        "on_battery": system.on_battery(),
        "low_power_mode": system.low_power_mode(),
    }
    return Machine(**facts)


def package_version(name: str) -> str:
    """The installed version of a package, or "missing"."""
    try:
        return version(name)
    except PackageNotFoundError:
        return MISSING


def _package_state(name: str) -> str:
    """A package's version, "missing", or "broken: …" where it is installed but cannot be imported."""
    found = package_version(name)
    if found == MISSING or name == "datasets":  # optional, and slow to import
        return found
    try:
        import_module({"scikit-learn": "sklearn"}.get(name, name))
    except Exception as error:  # a damaged install raises of every kind
        return f"broken: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return found


def _devices() -> tuple[Device, ...]:
    try:
        return tuple(device for backend in all_backends() for device in backend.devices())
    except ImportError:  # no torch: the doctor says so
        return ()


def _torch_builds() -> tuple[str, ...]:
    try:
        return tuple(backend.kind for backend in all_backends() if backend.is_built())
    except ImportError:
        return ()


def _tried(device: Device) -> Device:
    """The device with what a small training step on it said."""
    from dataclasses import replace

    import torch

    try:
        weights = torch.ones(8, 8, device=device.kind, requires_grad=True)
        (weights @ weights).sum().backward()
        wrong = weights.grad is None or float(weights.grad.sum().cpu()) != 1024.0
    except Exception as error:  # whatever a driver raises is the answer
        return replace(device, trouble=f"{type(error).__name__}: {str(error).splitlines()[0]}")
    return replace(device, trouble="a small product gave a wrong result" if wrong else "")
