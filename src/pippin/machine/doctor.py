"""The doctor: is this computer ready, and what to type where it is not. Pure functions of a Machine."""

from __future__ import annotations

from collections.abc import Iterator

from pippin.machine.backends.cuda import CudaBackend
from pippin.machine.check import BAD, NOTE, OK, Check, gigabytes, release
from pippin.machine.mac_checks import mac_checks
from pippin.machine.machine import MISSING, Machine

_OLDEST_PYTHON, _OLDEST_TORCH, _OLDEST_TRANSFORMERS = (3, 10), (2, 5), (4, 40)
#: A run writes the model, and while it trains a copy of the best one.
_ENOUGH_DISK, _LITTLE_DISK = 5 * 2**30, 1 * 2**30
_MUCH_SWAP = 2 * 2**30
_NEEDED = ("transformers", "tokenizers", "safetensors", "numpy", "pyarrow", "scikit-learn")


def examine(machine: Machine) -> list[Check]:
    """All that matters on this computer, in the order in which to put it right."""
    checks = list(mac_checks(machine)) if machine.system == "Darwin" else list(_other_checks(machine))
    checks[1:1] = [_python_version(machine)]
    return [*checks, _torch(machine), *_packages(machine), *_surroundings(machine)]


def is_ready(checks: list[Check]) -> bool:
    """Whether nothing stands in the way."""
    return all(check.status != BAD for check in checks)


def _other_checks(machine: Machine) -> Iterator[Check]:
    """Linux and Windows: the CPU always works; a GPU is used when torch finds one."""
    yield Check("processor", OK, f"{machine.chip or machine.architecture}, {machine.cpu_cores} cores")
    if machine.torch == MISSING:
        return
    cards = [device for device in machine.devices if device.kind == CudaBackend.kind]
    for card in cards:
        if card.trouble:
            todo = "Check the driver with `nvidia-smi`, and that torch's CUDA fits it."
            yield Check("GPU", BAD, f"{card.name}: {card.trouble}", "a small training step on it failed", todo)
        else:
            memory = f", {gigabytes(card.memory_bytes)}" if card.memory_bytes else ""
            bf16 = "bfloat16" if card.bf16 else "no bfloat16: use --fp16 for half precision"
            yield Check("GPU", OK, f"{card.name}{memory}, {bf16}; a small training step on it was right")
    if not cards and CudaBackend.kind in machine.torch_builds:
        why = "torch was built for CUDA and finds no card; training runs on the CPU"
        yield Check("GPU", NOTE, "none found", why, "Where there is a card: check the driver with `nvidia-smi`.")
    elif not cards:
        yield Check("GPU", NOTE, "none", "this torch is a CPU build; training runs on the CPU")


def _python_version(machine: Machine) -> Check:
    if release(machine.python) >= _OLDEST_PYTHON:
        return Check("Python version", OK, machine.python)
    return Check("Python version", BAD, machine.python, "Pippin needs Python 3.10", "Install a newer Python.")


def _torch(machine: Machine) -> Check:
    if machine.torch == MISSING:
        return Check("torch", BAD, MISSING, "nothing trains without it", "pip install torch")
    state = machine.packages.get("torch", machine.torch)
    if state.startswith("broken"):
        return Check(
            "torch", BAD, state, "it is installed and cannot be imported", "pip install --force-reinstall torch"
        )
    if release(machine.torch) < _OLDEST_TORCH:
        return Check("torch", BAD, machine.torch, "Pippin needs torch 2.5", 'pip install "torch>=2.5"')
    return Check("torch", OK, f"{machine.torch}, built for {', '.join(machine.torch_builds) or 'the CPU'}")


def _packages(machine: Machine) -> Iterator[Check]:
    for name in _NEEDED:
        state = machine.packages.get(name)
        if state == MISSING:
            yield Check(name, BAD, MISSING, "Pippin needs it", f"pip install {name}")
        elif state is not None and state.startswith("broken"):
            rust = name == "tokenizers"
            why = "it was built for another Python, or needs Rust to build here" if rust else "it cannot be imported"
            first = "pip install --upgrade pip && " if rust else ""
            yield Check(name, BAD, state, why, f"{first}pip install --force-reinstall {name}")
    if machine.transformers != MISSING and release(machine.transformers) < _OLDEST_TRANSFORMERS:
        todo = 'pip install "transformers>=4.40"'
        yield Check("transformers", BAD, machine.transformers, "Pippin needs transformers 4.40", todo)


def _surroundings(machine: Machine) -> Iterator[Check]:
    if machine.free_disk_bytes is not None:
        found = f"{gigabytes(machine.free_disk_bytes)} free in this folder"
        if machine.free_disk_bytes < _LITTLE_DISK:
            yield Check("disk", BAD, found, "a run writes the model and copies of it", "Free some room first.")
        elif machine.free_disk_bytes < _ENOUGH_DISK:
            yield Check("disk", NOTE, found, "enough for small models only", "Free some room for larger ones.")
        else:
            yield Check("disk", OK, found)
    if machine.swap_used_bytes and machine.swap_used_bytes > _MUCH_SWAP:
        found = f"{gigabytes(machine.swap_used_bytes)} in use"
        yield Check("swap", NOTE, found, "memory is short, and swapping makes training crawl", "Close other programs.")
    if machine.on_battery:
        yield Check("power", NOTE, "on battery", "long runs drain it, and some laptops slow down", "Plug it in.")
    if machine.variables.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        why = "models and data sets come only from the cache and local folders"
        yield Check("Hub", NOTE, "switched off by HF_HUB_OFFLINE", why, "unset HF_HUB_OFFLINE to load from the Hub.")
