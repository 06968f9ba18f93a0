"""What a benchmark found, as plain data: it goes to bench.json and back, so that people can share it."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from pathlib import Path

from pippin.errors import PippinError, readable
from pippin.machine.machine import Machine
from pippin.plain_files import read_json
from pippin.records import from_json

#: Number of the file's format; raised when an older version could not read it.
FORMAT = 1
INFERENCE, TRAINING, HEAD_ONLY = "inference", "training", "head only"
PIPPIN, TRANSFORMERS = "pippin", "transformers"


@dataclass(frozen=True)
class Setting:
    """One thing that is measured."""

    test: str
    device: str
    precision: str
    batch: int
    length: int | None = None
    """Tokens of every row; None where rows are as long as they are."""
    library: str = PIPPIN


@dataclass(frozen=True)
class Point:
    """What was measured of a setting."""

    setting: Setting
    rows: int
    """Rows that each of the times was taken over."""
    seconds: tuple[float, ...]
    """One for each repeat; none where it could not be measured."""
    samples_per_second: float | None = None
    """By the median of the times."""
    whole_seconds: tuple[float, ...] = ()
    """Of training: all of it, with the first steps, which set things up."""
    memory: int | None = None
    """Most bytes that the work took on the device, the model included."""
    watts: float | None = None
    score: float | None = None
    trouble: str = ""
    """Why it could not be measured, or what was special about it."""

    @property
    def spread(self) -> float:
        """How far apart the slowest and the fastest repeat are, as a share of the median."""
        if len(self.seconds) < 2:
            return 0.0
        return (max(self.seconds) - min(self.seconds)) / statistics.median(self.seconds)

    def speeds(self) -> tuple[float, float, float] | None:
        """Samples a second: of the slowest repeat, of the median, of the fastest."""
        if not self.seconds:
            return None
        slow, middle, fast = max(self.seconds), statistics.median(self.seconds), min(self.seconds)
        return self.rows / slow, self.rows / middle, self.rows / fast


@dataclass(frozen=True)
class Largest:
    """The largest batch whose training step fits into memory, among powers of two."""

    test: str
    device: str
    batch: int
    """0 where not even one row fits, or it is unknown."""
    why: str
    """Where the search ended, and whether it was an estimate."""


@dataclass(frozen=True)
class Bench:
    model: str
    data: str
    machine: Machine
    date: str
    pippin: str
    devices: tuple[str, ...]
    """Those that were measured, the best first."""
    points: tuple[Point, ...]
    largest: tuple[Largest, ...] = ()
    length: int = 128
    """Tokens of a row where other things than the length are compared."""
    training_rows: int = 0
    padded_to: int = 0
    """Tokens to which Hugging Face's Trainer pads every row; 0 where it was not measured."""
    head_only_epochs: int = 1
    metric: str = "accuracy"
    left_out: tuple[str, ...] = ()
    """What there was no time for."""
    emulated: tuple[str, ...] = ()
    """Devices that something else computes for: their times are not theirs."""
    random_weights: bool = False
    """Whether the model knows nothing, so that only its speed means something."""
    seconds: float = 0.0
    """The whole benchmark, charts excluded."""
    complete: bool = True
    """False where it was interrupted."""
    format: int = FORMAT

    def of(self, test: str, **wanted: object) -> list[Point]:
        """The points of a test whose settings have these values."""
        wanted["test"] = test
        return [p for p in self.points if all(getattr(p.setting, name) == value for name, value in wanted.items())]


def read_bench(path: str) -> Bench:
    """A bench.json; refused where it is something else."""
    try:
        with readable(path):
            data = read_json(Path(path))
    except ValueError as error:
        raise PippinError(f"{path} cannot be read as JSON: {error}.") from None
    if not isinstance(data, dict) or not isinstance(data.get("format"), int) or "points" not in data:
        raise PippinError(f"{path} was not written by `pippin bench`. Name its bench.json.")
    if data["format"] > FORMAT:
        raise PippinError(f"{path} was written by a newer Pippin ({data.get('pippin')}). Update this one to read it.")
    try:
        bench = from_json(Bench, data)
    except ValueError as error:
        raise PippinError(f"{path} is damaged: {error}.") from None
    if not all(0 < time < math.inf for point in bench.points for time in (*point.seconds, *point.whole_seconds)):
        raise PippinError(f"{path} is damaged: it holds times of zero or less.")
    return bench
