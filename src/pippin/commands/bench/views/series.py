"""A benchmark's contenders: each device of each machine with each library, by the names that people read."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pippin.commands.bench.results import INFERENCE, PIPPIN, Bench, Point
from pippin.machine.traits import DeviceTraits
from pippin.text import local_time, memory


@dataclass(frozen=True)
class BarSeries:
    """One contender."""

    label: str
    bench: Bench
    device: str
    library: str

    def point(self, test: str, batch: int, **where: object) -> Point | None:
        """What was measured; of inference, where nothing else is said, of the usual length in fp32."""
        if test == INFERENCE:
            where = {"length": self.bench.length, "precision": "fp32", **where}
        found = self.bench.of(test, device=self.device, library=self.library, batch=batch, **where)
        return found[0] if found else None

    @property
    def is_emulated(self) -> bool:
        return self.device in self.bench.emulated


def series_of(benches: Sequence[Bench]) -> list[BarSeries]:
    """All contenders; those of several machines are numbered."""
    found = []
    for number, bench in enumerate(benches, 1):
        for device in bench.devices:
            libraries = dict.fromkeys(p.setting.library for p in bench.points if p.setting.device == device)
            for library in libraries or {PIPPIN: None}:
                label = f"{number}: " * (len(benches) > 1) + device_label(bench, device)
                label += f", {library_label(bench, library)}" * (library != PIPPIN)
                found.append(BarSeries(label, bench, device, library))
    return found


def device_places(series: Sequence[BarSeries]) -> dict[str, int]:
    """For each contender's label the place of its device among all: both libraries on one device share a colour."""
    devices = list(dict.fromkeys((id(each.bench), each.device) for each in series))
    return {each.label: devices.index((id(each.bench), each.device)) for each in series}


def batches_of(series: Sequence[BarSeries], test: str) -> list[int]:
    """The batch sizes that any of them has, in order."""
    return sorted({p.setting.batch for s in series for p in s.bench.of(test, device=s.device, library=s.library)})


def library_label(bench: Bench, library: str) -> str:
    """What trained: Pippin, or the Trainer, whose padding is what it loses most time with."""
    if library == PIPPIN:
        return "Pippin"
    return f"HF Trainer, padded to {bench.padded_to}" if bench.padded_to else "HF Trainer, padded"


def device_label(bench: Bench, device: str) -> str:
    """A device's name, marked where it is emulated."""
    found = _traits(bench, device)
    label = f"{device} ({short_name(found.name)})" if found and found.name else device
    return f"{label}, emulated" if device in bench.emulated else label


def short_name(name: str) -> str:
    """A maker's name without marks and clock rates.

    >>> short_name("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz")
    'Intel Xeon Platinum 8481C'
    """
    plain = name.replace("(R)", "").replace("(TM)", "").split("@")[0].replace(" CPU", "").replace(" Processor", "")
    return " ".join(plain.split())


def machine_words(bench: Bench) -> str:
    """A machine in one line."""
    machine = bench.machine
    parts = [f"{short_name(machine.chip) or machine.architecture}, {machine.cpu_cores} cores"]
    if machine.memory_bytes:
        parts[0] += f", {memory(machine.memory_bytes)}"
    for device in bench.devices:
        if device != "cpu" and (found := _traits(bench, device)):
            room = f", {memory(found.memory_bytes)}" if found.memory_bytes else ""
            parts.append(f"{device_label(bench, device)}{room}")
    parts.append(f"macOS {machine.release}" if machine.system == "Darwin" else machine.system)
    return " · ".join(parts)


def software_words(bench: Bench) -> str:
    versions = f"Pippin {bench.pippin} · torch {bench.machine.torch} · transformers {bench.machine.transformers}"
    return f"{versions} · {local_time(bench.date)[:10]}"


def time_words(seconds: Sequence[float]) -> str:
    """The median of some times.

    >>> time_words((10.24, 10.4, 9.0)), time_words((0.0312,))
    ('10.2 s', '31 ms')
    """
    middle = statistics.median(seconds)
    return f"{middle:,.1f} s" if middle >= 0.95 else f"{1000 * middle:.{0 if middle >= 0.01 else 1}f} ms"


def _traits(bench: Bench, device: str) -> DeviceTraits | None:
    kind, _, index = device.partition(":")
    alike = [each for each in bench.machine.devices if each.kind == kind]
    return alike[int(index or 0)] if int(index or 0) < len(alike) else None
