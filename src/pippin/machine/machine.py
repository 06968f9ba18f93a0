"""The Machine: what this computer is, as plain data, so that it can be saved, sent and judged elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pippin.errors import PippinError
from pippin.machine.traits import DeviceTraits

#: What stands for a version where there is none.
MISSING = "missing"


@dataclass(frozen=True)
class Hub:
    address: str
    cache: str
    """The folder of downloaded models, the home folder written as ~."""
    cache_exists: bool
    cache_writable: bool
    """Whether files can be written there, or the folder made."""
    models: int
    """Models in the cache."""
    answers: bool | None = None
    """Whether it answered just now; None when it was not asked."""
    trouble: str = ""
    """Why it did not answer."""


@dataclass(frozen=True)
class Machine:
    system: str
    """Darwin, Linux or Windows."""
    release: str
    """The version of macOS, or the kernel's."""
    architecture: str
    """Of this Python: arm64, x86_64 …"""
    python: str
    torch: str
    transformers: str
    cpu_cores: int
    memory_bytes: int | None
    devices: tuple[DeviceTraits, ...]
    """In the order in which Pippin prefers them."""
    missing: dict[str, str] = field(default_factory=dict)
    """Why there is no device of a kind, and what to do."""
    processes: int = 1
    """How many the job was started as."""
    local_processes: int = 1
    """How many of them share this computer's memory."""
    launcher: str = ""
    """By whom: torchrun, srun or their like; empty where it was started alone."""
    native_architecture: str = ""
    """Of the processor itself, which may differ from Python's under Rosetta; empty when unknown."""
    chip: str = ""
    torch_builds: tuple[str, ...] = ()
    """The kinds of device that this torch was built for."""
    torch_wheel: str = ""
    """The platform that torch's wheel names, such as macosx_11_0_arm64; empty when unknown."""
    torch_was_loaded: bool = False
    """Whether torch had been imported before this description was begun."""
    packages: dict[str, str] = field(default_factory=dict)
    """Versions of what Pippin stands on; `missing`, or `broken: …` where an import fails."""
    variables: dict[str, str] = field(default_factory=dict)
    """Environment variables that change how torch or the Hub behave."""
    in_conda: bool = False
    swap_used_bytes: int | None = None
    free_disk_bytes: int | None = None
    """In the current folder."""
    on_battery: bool | None = None
    low_power_mode: bool | None = None
    hub: Hub | None = None
    """None when nobody looked."""

    def device(self, name: str) -> DeviceTraits:
        """The device of a name such as `cpu` or `cuda:1`."""
        kind, _, index = name.partition(":")
        present = [device for device in self.devices if device.kind == kind]
        if not present:
            why = self.missing.get(kind, f"there is no {kind} device")
            others = ", ".join(dict.fromkeys(device.kind for device in self.devices))
            raise PippinError(f"--device {name}: {why}. Available here: {others}.")
        if index and int(index) >= len(present):
            raise PippinError(f"--device {name}: there are only {len(present)}, numbered from 0.")
        return present[int(index or 0)]


def offline_by(variables: Mapping[str, str]) -> str:
    """The variable that tells the Hub's client to stay away from the network; empty where none does."""
    name = "HF_HUB_OFFLINE" if variables.get("HF_HUB_OFFLINE") else "TRANSFORMERS_OFFLINE"
    return name if variables.get(name, "").upper() in ("1", "ON", "YES", "TRUE") else ""


def is_offline(variables: Mapping[str, str]) -> bool:
    return bool(offline_by(variables))
