"""The Report: what came out of a run, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pippin.machine.fallbacks import Fallback
from pippin.plain_files import read_json
from pippin.records import from_json

#: The report's name in the folder of a run.
NAME = "report.json"


@dataclass(frozen=True)
class Mistake:
    """A row that the model is wrong about."""

    row: int
    """In its file, from 1."""
    text: str
    pair: str
    """The second text; empty where there is none."""
    truth: str
    predicted: str
    score: float
    """The probability of the wrong class; for numbers, how far off the prediction is."""


@dataclass(frozen=True)
class Confusion:
    """A class that was taken for another."""

    truth: str
    predicted: str
    rows: int


@dataclass(frozen=True)
class Report:
    """Results under Hugging Face's keys, and what they were made of."""

    folder: str
    results: dict[str, float]
    """All of train_, eval_ and test_ figures."""
    main_metric: str
    text_columns: tuple[str, ...] = ()
    best_step: int | None = None
    stopped_early: bool = False
    peak_memory: int = 0
    """Most bytes held on the device while training."""
    saving_seconds: float = 0.0
    """Time that training waited for checkpoints."""
    fallbacks: dict[str, Fallback] = field(default_factory=dict)
    """Operators that ran on the CPU since the device has no kernel for them, the costliest first."""
    verification: str = ""
    """What a comparison with the CPU before training found, in a sentence; empty where the CPU did the training."""
    per_class: dict[str, dict[str, float]] = field(default_factory=dict)
    """Precision, recall, F1 and rows by class, on the test rows where they have labels, else on the validation rows."""
    confusion: list[list[int]] = field(default_factory=list)
    """True classes down, predicted classes across; empty where there are too many classes for such a table."""
    confusions: tuple[Confusion, ...] = ()
    """The pairs of classes that are mixed up most."""
    judged_on: str = ""
    """Which split per_class, confusion and mistakes come from."""
    mistakes: tuple[Mistake, ...] = ()
    """The most confident wrong answers."""

    @property
    def path(self) -> Path:
        return Path(self.folder)


def read_report(folder: Path) -> Report | None:
    """What came out of the run in a folder; None where it is not finished, or the report cannot be read."""
    try:
        return from_json(Report, read_json(folder / NAME))
    except (OSError, ValueError):
        return None
