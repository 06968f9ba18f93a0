"""What the doctor asks of a Mac. Pure functions of a Machine; facts from PyTorch's macOS wheels, not measured by us."""

from __future__ import annotations

from collections.abc import Iterator

from pippin.machine.check import BAD, NOTE, OK, Check, dotted, memory_check, release
from pippin.machine.chips import gpu_budget
from pippin.machine.drivers import FALLBACK_VARIABLE, is_fallback_value
from pippin.machine.drivers.mps_memory import HIGH, LOW, NO_LIMIT, has_no_limit, watermark_problem
from pippin.machine.faults import MacFacts, precision_problems
from pippin.machine.machine import MISSING, Machine
from pippin.machine.releases import macos_floor, newest_torch
from pippin.machine.traits import MPS
from pippin.text import memory

_LAST_INTEL_TORCH = "2.2.2"


def mac_system_checks(machine: Machine) -> list[Check]:
    """The processor, Python and macOS: what torch stands on."""
    return [_processor(machine), _python_architecture(machine), _macos(machine)]


def mac_gpu_checks(machine: Machine) -> Iterator[Check]:
    """The Apple GPU as the installed torch sees it, in the order in which to put things right."""
    yield _gpu(machine)
    if is_arm(machine):
        yield from (_bfloat16(machine), _fallback(machine), _watermarks(machine))


def is_arm(machine: Machine) -> bool:
    """Whether it has Apple silicon, also where this Python is translated."""
    return "arm64" in (machine.native_architecture, machine.architecture)


def _processor(machine: Machine) -> Check:
    name = machine.chip or machine.native_architecture or machine.architecture
    if is_arm(machine):
        return Check("processor", OK, name)
    why = f"the Apple GPU needs Apple silicon, and torch for Intel Macs ended with {_LAST_INTEL_TORCH}"
    return Check(
        "processor", BAD, f"{name} (Intel)", why, "Train on another computer: Pippin needs torch 2.5 or newer."
    )


def _python_architecture(machine: Machine) -> Check:
    if machine.architecture == "arm64":
        return Check("Python", OK, f"{machine.python}, arm64")
    found = f"{machine.python}, {machine.architecture}"
    if not is_arm(machine):
        return Check("Python", NOTE, found, "right for an Intel Mac")
    why = "this Python runs under Rosetta, where torch cannot use the GPU"
    if machine.in_conda:
        todo = "CONDA_SUBDIR=osx-arm64 conda create -n pippin python=3.12 && conda activate pippin"
        todo += " && conda config --env --set subdir osx-arm64"
        return Check("Python", BAD, found + " (conda osx-64)", why, todo)
    todo = "Install the universal Python from python.org, then: arch -arm64 python3 -m venv .venv"
    return Check("Python", BAD, found, why, todo)


def _macos(machine: Machine) -> Check:
    found, newest = machine.release, newest_torch(machine.release)
    if machine.torch == MISSING:
        if newest is None:
            return Check("macOS", BAD, found, "torch needs macOS 12.3 for the GPU", "Update macOS in System Settings.")
        return Check("macOS", OK, found)
    floor = macos_floor(machine.torch)
    if release(found) >= floor:
        return Check("macOS", OK, f"{found}; torch {machine.torch} needs {_version(floor)}")
    why = f"torch {machine.torch} needs macOS {_version(floor)} for the GPU"
    older = f', or: pip install "torch<={newest}"' if newest else ""
    return Check("macOS", BAD, found, why, f"Update macOS in System Settings{older}")


def _gpu(machine: Machine) -> Check:
    device = next((device for device in machine.devices if device.mac), None)
    if device is not None and device.trouble:
        todo = "Update torch; if the problem remains, report it to PyTorch with this text."
        return Check("Apple GPU", BAD, device.trouble, "a small training step on it failed", todo)
    if device is not None:
        tried = "torch uses it; a small training step gave the right result"
        return Check("Apple GPU", OK, "torch finds it; not tested" if device.trouble is None else tried)
    if MPS not in machine.torch_builds:
        if not is_arm(machine):
            why = "Intel Macs have none that torch can use"
            return Check("Apple GPU", BAD, "none", why, "See the processor above.")
        why = "this torch was built without it (an x86_64 or a conda build)"
        return Check("Apple GPU", BAD, "not built", why, "pip install --force-reinstall torch, in an arm64 Python")
    why = "torch supports it but does not find it: macOS is too old, or this is a virtual machine without a GPU"
    return Check("Apple GPU", BAD, "not available", why, "Fix the problems above, then try again.")


def _bfloat16(machine: Machine) -> Check:
    problem = precision_problems(MacFacts(machine.torch, machine.release, machine.chip)).get("bf16")
    if problem is None:
        return Check("bfloat16", OK, "can be used with --bf16")
    return Check("bfloat16", NOTE, "no", problem, "Leave --bf16 out.")


def _fallback(machine: Machine) -> Check:
    value = machine.variables.get(FALLBACK_VARIABLE)
    if value is None and machine.torch_was_loaded:
        why = "torch reads it only when it is imported: operators that the GPU lacks may stop a run in this Python"
        todo = f"Before the first import of torch: import os; os.environ['{FALLBACK_VARIABLE}'] = '1'"
        return Check("fallback", NOTE, "torch was imported without it; setting it now comes too late", why, todo)
    if value is None:
        return Check("fallback", OK, "operators that the GPU lacks run on the CPU")
    found, cure = f"{FALLBACK_VARIABLE}={value}", f"export {FALLBACK_VARIABLE}=1"
    if value and not is_fallback_value(value):
        return Check("fallback", BAD, found, "torch accepts only a number here, and fails to start", cure)
    if value and int(value):
        return Check("fallback", OK, found)
    why = "operators that the GPU lacks stop other programs; pippin itself follows --mps_fallback"
    return Check("fallback", NOTE, found, why, cure)


def _watermarks(machine: Machine) -> Check:
    found = ", ".join(f"{name}={machine.variables[name]}" for name in (HIGH, LOW) if machine.variables.get(name))
    problem = NO_LIMIT if has_no_limit(machine.variables) else watermark_problem(machine.variables)
    if problem:
        return Check("memory limits", BAD, found, problem, f"unset {HIGH} {LOW}")
    return Check("memory limits", OK, found or "torch's own")


def mac_memory(machine: Machine) -> Iterator[Check]:
    """The memory that processor and GPU share."""
    if machine.memory_bytes is None:
        return
    known = next((device.memory_bytes for device in machine.devices if device.mac), None)
    for_gpu = memory(known) if known else f"about {memory(gpu_budget(machine.memory_bytes))}"
    budget = memory(machine.memory_bytes) + (f", of which the GPU may use {for_gpu}" if is_arm(machine) else "")
    yield memory_check(budget, machine.memory_bytes < 12 * 2**30)


def _version(numbers: tuple[int, ...]) -> str:
    return dotted(numbers).removesuffix(".0")
