"""The only place that asks the operating system and torch what this computer is."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from urllib.parse import urlsplit

from pippin.machine import system
from pippin.machine.drivers import FALLBACK_VARIABLE, all_backends, get_backend, is_fallback_value
from pippin.machine.launch import place_here
from pippin.machine.machine import MISSING, Hub, Machine, is_offline
from pippin.machine.traits import DeviceTraits
from pippin.redact import without_secrets

_PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "scipy", "pyarrow", "datasets")
#: Environment variables that change what a run does.
_VARIABLES = (
    FALLBACK_VARIABLE, "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO", "CUDA_VISIBLE_DEVICES",
    "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HOME", "OMP_NUM_THREADS",
)  # fmt: skip
_HUB = "https://huggingface.co"
_HUB_TIMEOUT = 3.0


def probe() -> Machine:
    """Describe this computer: what a job needs to know. Imports torch where it is installed."""
    devices, missing = _devices()
    place = place_here()
    return Machine(
        system=platform.system(),
        release=system.macos_release() or platform.release(),
        architecture=platform.machine(),
        python=platform.python_version(),
        torch=package_version("torch"),
        transformers=package_version("transformers"),
        cpu_cores=os.cpu_count() or 1,
        memory_bytes=system.total_memory(),
        devices=devices,
        missing=missing,
        processes=place.size,
        local_processes=place.local_size,
        launcher=place.launcher,
    )


def with_memory(machine: Machine, device: str = "", most: int | None = None) -> Machine:
    """This computer, with the memory of a device as it is now, of each where none is named; no more than ``most``."""
    wanted = device if ":" in device else f"{device}:0"
    found = list(machine.devices)
    for place, name in enumerate(_names(machine.devices)):
        if name == wanted or not device:
            driver = get_backend(name)
            budget, held = driver.memory_budget(), driver.memory_now() or 0
            budget = budget if most is None or budget is None else min(budget, most)
            found[place] = replace(found[place], budget_bytes=budget, held_bytes=held)
    return replace(machine, devices=tuple(found))


def ask_hub(address: str) -> str:
    """Why the Hub does not answer, empty when it does; by the client (and its proxies) that downloads models."""
    try:
        from huggingface_hub.utils import get_session

        get_session().head(address, timeout=_HUB_TIMEOUT)
    except Exception as error:  # each client has its own kinds
        return _first_line(error)
    return ""


def probe_thoroughly(ask: Callable[[str], str] = ask_hub) -> Machine:
    """The same with all that the doctor asks for: a small operation on each device, packages, power, disk, the Hub."""
    torch_was_loaded = "torch" in sys.modules
    variables = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    if not is_fallback_value(variables.get(FALLBACK_VARIABLE) or "0"):
        del os.environ[FALLBACK_VARIABLE]  # torch would not start, and nothing else could be looked at
    plain = probe()
    return replace(
        with_memory(replace(plain, devices=_tried(plain.devices))),
        native_architecture=system.native_architecture(),
        chip=system.chip_name(),
        torch_builds=_torch_builds(),
        torch_wheel=_wheel_platform("torch"),
        torch_was_loaded=torch_was_loaded,
        packages={name: _package_state(name) for name in _PACKAGES},
        variables=variables,
        in_conda="CONDA_PREFIX" in os.environ,
        swap_used_bytes=system.swap_used(),
        free_disk_bytes=shutil.disk_usage(".").free,
        on_battery=system.on_battery(),
        low_power_mode=system.low_power_mode(),
        hub=_hub(None if is_offline(variables) else ask),
    )


def package_version(name: str) -> str:
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
        import_module(name)
    except Exception as error:  # a damaged install raises of every kind
        return f"broken: {_first_line(error)}"
    return found


def _devices() -> tuple[tuple[DeviceTraits, ...], dict[str, str]]:
    """What is there, and why the rest is not."""
    try:
        found = {backend: backend.devices() for backend in all_backends()}
    except ImportError:  # no torch: the doctor says so
        return (), {}
    missing = {backend.kind: backend.why_missing() for backend, devices in found.items() if not devices}
    return tuple(device for devices in found.values() for device in devices), missing


def _names(devices: tuple[DeviceTraits, ...]) -> list[str]:
    """Such as cuda:1."""
    kinds = [device.kind for device in devices]
    return [f"{kind}:{kinds[:place].count(kind)}" for place, kind in enumerate(kinds)]


def _torch_builds() -> tuple[str, ...]:
    try:
        return tuple(backend.kind for backend in all_backends() if backend.is_built())
    except ImportError:
        return ()


def _tried(devices: tuple[DeviceTraits, ...]) -> tuple[DeviceTraits, ...]:
    """The devices, each with what a small training step on it said."""
    return tuple(replace(device, trouble=_trouble(name)) for device, name in zip(devices, _names(devices), strict=True))


def _trouble(device: str) -> str:
    import torch

    try:
        weights = torch.ones(8, 8, device=device, requires_grad=True)
        (weights @ weights).sum().backward()
        wrong = weights.grad is None or float(weights.grad.sum().cpu()) != 1024.0
    except Exception as error:  # whatever a driver raises is the answer
        return _first_line(error)
    return "a small product gave a wrong result" if wrong else ""


def _wheel_platform(package: str) -> str:
    """What a package's wheel was built for, by its own metadata; conda's builds often do not tell."""
    try:
        lines = (distribution(package).read_text("WHEEL") or "").splitlines()
    except PackageNotFoundError:
        return ""
    platforms = {line.rpartition("-")[2] for line in lines if line.startswith("Tag:")}
    return ".".join(sorted(platforms - {"any"}))


def _hub(ask: Callable[[str], str] | None) -> Hub:
    """The Hub's cache, by the variables that its client reads; asks for an answer only where told how."""
    home = Path(os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    cache = Path(os.path.expandvars(os.environ.get("HF_HUB_CACHE") or home / "hub")).expanduser()
    exists = cache.is_dir()
    nearest = next(folder for folder in (cache, *cache.absolute().parents) if folder.exists())
    endpoint = urlsplit(os.environ.get("HF_ENDPOINT") or _HUB)
    trouble = ask(endpoint.geturl()) if ask else ""
    return Hub(
        address=endpoint._replace(netloc=endpoint.netloc.rpartition("@")[2]).geturl(),  # without a password
        cache=str(cache).replace(str(Path.home()), "~", 1),
        cache_exists=exists,
        cache_writable=os.access(nearest, os.W_OK),
        models=len(list(cache.glob("models--*"))) if exists else 0,
        answers=not trouble if ask else None,
        trouble=trouble,
    )


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {without_secrets(lines[0])}" if lines else type(error).__name__
