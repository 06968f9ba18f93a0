"""Benchmarks that nobody ran, for tests of what is made of them."""

from __future__ import annotations

from pippin.commands.bench.results import HEAD_ONLY, INFERENCE, PIPPIN, TRAINING, Bench, Largest, Point, Setting
from pippin.machine.machine import Machine
from pippin.machine.traits import traits_of

GPU = "cuda"


def machine(*kinds: str) -> Machine:
    names = {"cpu": "Intel(R) Xeon(R) CPU @ 2.00GHz", GPU: "NVIDIA H200"}
    devices = tuple(traits_of(kind, names.get(kind, "Apple M3 GPU"), memory_bytes=2**34) for kind in kinds)
    return Machine("Linux", "6.1", "x86_64", "3.12", "2.13.0", "4.57.0", 8, 2**35, devices, chip=names["cpu"])


def point(test: str, device: str, batch: int, seconds: tuple[float, ...], **more) -> Point:
    precision, length = more.pop("precision", "fp32"), more.pop("length", 128 if test == INFERENCE else None)
    rows = more.pop("rows", batch if test == INFERENCE else 1000)
    setting = Setting(test, device, precision, batch, length, more.pop("library", PIPPIN))
    speed = rows / sorted(seconds)[len(seconds) // 2] if seconds else None
    whole = () if test == INFERENCE else tuple(2 * second for second in seconds)
    return Point(setting, rows, seconds, speed, whole, **{"memory": 2**28, **more})


def made_up_bench(times: dict[str, float] | None = None, **more) -> Bench:
    """``times``: by how much slower than the fastest each device is."""
    times = times or {"cpu": 1.0}
    points = []
    for device, slow in times.items():
        for batch in (1, 8, 64):
            seconds = slow * (0.01 + 0.001 * batch)
            points.append(point(INFERENCE, device, batch, (seconds, 1.2 * seconds, 0.9 * seconds)))
        points.append(point(INFERENCE, device, 8, (slow * 0.004,), length=32))
        points.append(point(INFERENCE, device, 8, (slow * 0.01,), precision="bf16"))
        for batch in (16, 32):
            points.append(point(TRAINING, device, batch, (slow * 2.0, slow * 2.2), score=0.9))
        points.append(point(HEAD_ONLY, device, 32, (slow * 0.5,), rows=3000, score=0.8))
    settings = {
        "model": "all-MiniLM-L6-v2",
        "data": "questions",
        "machine": machine(*times),
        "date": "2026-01-02T03:04:05+00:00",
        "pippin": "0.1",
        "devices": tuple(times),
        "points": tuple(points),
        "largest": (Largest(TRAINING, "cpu", 512, "an estimate"),),
        "training_rows": 1000,
        **more,
    }
    return Bench(**settings)
