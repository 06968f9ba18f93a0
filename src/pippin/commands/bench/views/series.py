"""A benchmark's contenders: each device of each machine with each library, by the names that people read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pippin.commands.bench.results import INFERENCE, PIPPIN, Bench, Point
from pippin.machine.traits import DeviceTraits
from pippin.text import memory

EMULATED = "emulated"
EMULATED_NOTE = "emulated: the CPU computes in the device's name, so its times are not those of a real one"


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

    def batches(self, test: str) -> set[int]:
        return {point.setting.batch for point in self.bench.of(test, device=self.device, library=self.library)}

    @property
    def is_emulated(self) -> bool:
        return self.device in self.bench.emulated


def series_of(benches: Sequence[Bench]) -> list[BarSeries]:
    """All contenders; where there are several machines, the processor's name tells the CPUs apart."""
    found = []
    for number, bench in enumerate(benches, 1):
        for device in bench.devices:
            libraries = dict.fromkeys(p.setting.library for p in bench.points if p.setting.device == device)
            for library in libraries or {PIPPIN: None}:
                label = f"{number}: " * (len(benches) > 1) + device_label(bench, device)
                found.append(BarSeries(label + ", HF Trainer" * (library != PIPPIN), bench, device, library))
    return found


def batches_of(series: Sequence[BarSeries], test: str) -> list[int]:
    """The batch sizes that any of them has, in order."""
    return sorted({batch for each in series for batch in each.batches(test)})


def device_of(bench: Bench, device: str) -> DeviceTraits | None:
    kind, _, index = device.partition(":")
    alike = [each for each in bench.machine.devices if each.kind == kind]
    return alike[int(index or 0)] if int(index or 0) < len(alike) else None


def device_label(bench: Bench, device: str) -> str:
    """A device's name, marked where it is emulated."""
    found = device_of(bench, device)
    label = f"{device} ({short_name(found.name)})" if found and found.name else device
    return f"{label}, {EMULATED}" if device in bench.emulated else label


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
        found = device_of(bench, device)
        if device != "cpu" and found is not None:
            room = f", {memory(found.memory_bytes)}" if found.memory_bytes else ""
            parts.append(f"{device_label(bench, device)}{room}")
    parts.append(f"macOS {machine.release}" if machine.system == "Darwin" else machine.system)
    return " · ".join(parts)


def software_words(bench: Bench) -> str:
    return f"Pippin {bench.pippin} · torch {bench.machine.torch} · transformers {bench.machine.transformers}"


def ratio(one: Point, other: Point) -> float | None:
    """How many times as fast the first is, by the medians."""
    one_speed, other_speed = one.samples_per_second, other.samples_per_second
    return one_speed / other_speed if one_speed and other_speed else None
