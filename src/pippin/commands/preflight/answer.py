"""What a forecast says, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pippin.commands.preflight.link import LinkCost
from pippin.commands.preflight.operators import OperatorAnswer

#: Share of the budget from which on it is tight: forecasts were up to a tenth below what real steps took.
TIGHT = 0.9


@dataclass(frozen=True)
class Problem:
    what: str
    cure: str
    stops: bool
    """Whether the job cannot run with it; else it is slow, or worked round."""


@dataclass(frozen=True)
class Runs:
    problems: tuple[Problem, ...]
    operators: OperatorAnswer | None
    """None where nothing is known to be missing on the device, or the model could not be looked into."""

    @property
    def will(self) -> bool:
        return not any(problem.stops for problem in self.problems)


@dataclass(frozen=True)
class Option:
    """Settings with which less memory is needed."""

    flags: str
    needed: int
    note: str = ""


@dataclass(frozen=True)
class Fits:
    needed: int
    """Bytes of the GPU (or of the computer, on the CPU) at the worst moment, with the settings below."""
    budget: int
    """Bytes that it may take; 0: not known."""
    as_asked: int
    """Bytes with the settings that were asked for."""
    parts: dict[str, int]
    layers: dict[str, int]
    """Activations by layer."""
    settings: dict[str, str]
    """What is done otherwise than asked, so that it fits; all of it gives the same gradient."""
    options: tuple[Option, ...] = ()
    """Flags that would need less."""
    smallest: tuple[str, ...] = ()
    """The smallest Macs that hold it."""

    @property
    def will(self) -> bool:
        return not self.budget or self.needed <= self.budget

    @property
    def is_tight(self) -> bool:
        """Whether it fits only if the forecast is no more than a little too low."""
        return self.will and self.needed > TIGHT * self.budget > 0


@dataclass(frozen=True)
class Duration:
    """Seconds of the whole training: an estimate."""

    low: float
    likely: float
    high: float
    step: float
    """Of one optimiser step of mean size."""
    basis: str


@dataclass(frozen=True)
class Measured:
    """What one real step in a process of its own took."""

    peak: int | None
    step: float | None
    """Seconds."""
    trouble: str = ""
    """Why there is no figure: it did not fit, or crashed."""


@dataclass(frozen=True)
class Answer:
    job: str
    target: dict[str, Any]
    runs: Runs
    fits: Fits | None
    """None where nothing is trained, or the model could not be run with fake tensors."""
    duration: Duration | None
    disk: int
    """Bytes for the checkpoints and the model."""
    measured: Measured | None = None
    unknown: str = ""
    """What could not be found out, and why."""
    links: tuple[LinkCost, ...] = ()
    """What the link between several computers adds to each step."""

    @property
    def will(self) -> bool:
        """Whether it runs and fits, as far as can be told."""
        fits = self.fits is None or self.fits.will
        return self.runs.will and fits and not (self.measured and self.measured.trouble)
