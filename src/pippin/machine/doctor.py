"""The doctor: is this computer ready, and what to type where it is not. Pure functions of a Machine."""

from __future__ import annotations

from collections.abc import Iterator

from pippin.machine.check import BAD, NOTE, OK, OLDEST_TORCH, Check, memory_check, release
from pippin.machine.known_problems import known_problems
from pippin.machine.mac_checks import is_arm, mac_gpu_checks, mac_memory, mac_system_checks
from pippin.machine.machine import MISSING, Machine
from pippin.machine.surroundings import surroundings
from pippin.machine.traits import CUDA
from pippin.text import memory

_OLDEST_PYTHON, _OLDEST_TRANSFORMERS = (3, 10), (4, 40)
_NEEDED = ("transformers", "tokenizers", "safetensors", "numpy", "scipy", "pyarrow")
_REINSTALL_TORCH = "pip install --force-reinstall --no-cache-dir torch"
#: How a wheel names its system and its processor -> how Python names them.
_WHEEL_SYSTEMS = {"macosx": "Darwin", "manylinux": "Linux", "linux": "Linux", "win": "Windows"}
_SAME_PROCESSOR = {"aarch64": "arm64", "amd64": "x86_64"}
_RUST_HINT = " (if pip asks for Rust, there is no wheel for this Python: upgrade pip or use Python 3.12)"
_LITTLE_MEMORY = 8 * 2**30


def examine(machine: Machine) -> list[Check]:
    """All that matters on this computer, in the order in which to put it right."""
    mac = machine.system == "Darwin"
    processor = Check("processor", OK, f"{machine.chip or machine.architecture}, {machine.cpu_cores} cores")
    first, *rest = mac_system_checks(machine) if mac else [processor]
    checks = [first, _python_version(machine), *rest, _torch(machine)]
    if machine.torch != MISSING:
        checks += _wheel(machine)
        checks += mac_gpu_checks(machine) if mac else _cards(machine)
        checks += _cpu(machine)
        checks += known_problems(machine) if mac else ()
    checks += mac_memory(machine) if mac else _memory(machine)
    return [*checks, *_packages(machine), *surroundings(machine)]


def is_ready(checks: list[Check]) -> bool:
    """Whether nothing stands in the way."""
    return all(check.status != BAD for check in checks)


def _python_version(machine: Machine) -> Check:
    if release(machine.python) >= _OLDEST_PYTHON:
        return Check("Python version", OK, machine.python)
    return Check("Python version", BAD, machine.python, "Pippin needs Python 3.10", "Install a newer Python.")


def _torch(machine: Machine) -> Check:
    if machine.torch == MISSING:
        return Check("torch", BAD, MISSING, "Pippin needs it to train", "pip install torch")
    state = machine.packages.get("torch", machine.torch)
    if state.startswith("broken"):
        return Check("torch", BAD, state, "it is installed but cannot be imported", _REINSTALL_TORCH)
    if release(machine.torch) < OLDEST_TORCH:
        return Check("torch", BAD, machine.torch, "Pippin needs torch 2.5", _newer_torch(machine))
    return Check("torch", OK, f"{machine.torch}, built for {', '.join(machine.torch_builds) or 'the CPU'}")


def _newer_torch(machine: Machine) -> str:
    """How to come to a torch that Pippin takes; there is none for an x86_64 Python on a Mac."""
    install = 'pip install "torch>=2.5"'
    if machine.system != "Darwin" or machine.architecture == "arm64":
        return install
    return f"Fix Python first, as described above; then: {install}" if is_arm(machine) else "See the processor above."


def _wheel(machine: Machine) -> Iterator[Check]:
    """Whether torch's wheel is one for this system and this processor."""
    wheel = machine.torch_wheel
    system = next((name for prefix, name in _WHEEL_SYSTEMS.items() if wheel.startswith(prefix)), None)
    if system is None:
        return
    python, processor = _family(machine.architecture), _family(machine.native_architecture or machine.architecture)
    if system != machine.system:
        yield Check("torch wheel", BAD, wheel, f"it was built for {system}, not for this system", _REINSTALL_TORCH)
    elif wheel.endswith("universal2") or _family(wheel).endswith(processor):
        yield Check("torch wheel", OK, wheel)
    else:
        why = f"it was built for another processor; this one is {processor}"
        first = "Fix Python first, as described above; then: " if python != processor else ""
        yield Check("torch wheel", BAD, wheel, why, first + _REINSTALL_TORCH)


def _family(architecture: str) -> str:
    """One name for each processor, whatever the system calls it."""
    name = architecture.lower()
    return next((name.replace(other, one) for other, one in _SAME_PROCESSOR.items() if name.endswith(other)), name)


def _cards(machine: Machine) -> Iterator[Check]:
    """Linux and Windows: the CPU always works; a GPU is used when torch finds one, be it an emulated one."""
    cards = [device for device in machine.devices if device.is_gpu]
    for card in cards:
        if card.trouble:
            todo = "Check the driver with `nvidia-smi`, and that it supports torch's CUDA version."
            yield Check("GPU", BAD, f"{card.name}: {card.trouble}", "a small training step on it failed", todo)
        else:
            size = f", {memory(card.memory_bytes)}" if card.memory_bytes else ""
            bf16 = "bfloat16" if card.bf16 else "no bfloat16: use --fp16 for half precision"
            tried = "" if card.trouble is None else "; a small training step gave the right result"
            yield Check("GPU", OK, f"{card.name}{size}, {bf16}{tried}")
    if not cards and CUDA in machine.torch_builds:
        why = "torch was built for CUDA but finds no GPU; training runs on the CPU"
        yield Check("GPU", NOTE, "none found", why, "If there is one, check the driver with `nvidia-smi`.")
    elif not cards:
        todo = "If there is an NVIDIA GPU, install the CUDA build: https://pytorch.org/get-started/locally"
        yield Check("GPU", NOTE, "none", "this torch is a CPU build; training runs on the CPU", todo)


def _cpu(machine: Machine) -> Iterator[Check]:
    for device in machine.devices:
        if not device.is_gpu and device.trouble:
            why = "a small training step on it failed, so torch itself is damaged"
            yield Check("CPU", BAD, device.trouble, why, _REINSTALL_TORCH)
        elif not device.is_gpu:
            yield Check("CPU", OK, "a small training step gave the right result")


def _memory(machine: Machine) -> Iterator[Check]:
    if machine.memory_bytes is None:
        return
    has_gpu = any(device.is_gpu for device in machine.devices)
    yield memory_check(memory(machine.memory_bytes), machine.memory_bytes < _LITTLE_MEMORY and not has_gpu)


def _packages(machine: Machine) -> Iterator[Check]:
    fine = []
    for name in _NEEDED:
        state = machine.packages.get(name)
        hint = _RUST_HINT if name == "tokenizers" else ""
        if state == MISSING:
            yield Check(name, BAD, MISSING, "Pippin needs it", f"pip install {name}{hint}")
        elif state is not None and state.startswith("broken"):
            why = "it is installed but cannot be imported"
            yield Check(name, BAD, state, why, f"pip install --force-reinstall --no-cache-dir {name}{hint}")
        elif state is not None:
            fine.append(f"{name} {state}")
    if fine:
        yield Check("packages", OK, ", ".join(fine))
    if machine.transformers != MISSING and release(machine.transformers) < _OLDEST_TRANSFORMERS:
        todo = 'pip install "transformers>=4.40"'
        yield Check("transformers", BAD, machine.transformers, "Pippin needs transformers 4.40", todo)
