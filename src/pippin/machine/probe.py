"""The only place that asks the operating system and torch what this computer is."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from pippin.machine.backends import all_backends
from pippin.machine.machine import Machine


def probe() -> Machine:
    """Describe this computer. Imports torch."""
    return Machine(
        system=platform.system(),
        release=platform.mac_ver()[0] or platform.release(),
        architecture=platform.machine(),
        python=platform.python_version(),
        torch=package_version("torch"),
        transformers=package_version("transformers"),
        cpu_cores=os.cpu_count() or 1,
        memory_bytes=total_memory(),
        devices=tuple(device for backend in all_backends() for device in backend.devices()),
    )


def package_version(name: str) -> str:
    """The installed version of a package, or "missing"."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def total_memory() -> int | None:
    """The computer's memory in bytes, where the system tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
