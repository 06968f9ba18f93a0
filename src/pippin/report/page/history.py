"""A run's events, gathered for its page: from events.jsonl, or one by one while it goes on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pippin.plain_files import open_plain, parse_json
from pippin.report.happenings import sentence

#: Bytes of a line of events.jsonl, characters of a sentence, and the largest whole number: nobody's own go beyond.
_LONGEST_LINE, _LONGEST_WORDS, _LARGEST = 1 << 20, 1000, 2**63
#: Samples that are kept.
_MOST_SAMPLES = 300
#: Events that are told on the page, beside those that the terminal tells of.
_TOLD = {
    "resumed": lambda figures: f"resumed from step {figures['step']}",
    "saved": lambda figures: f"checkpoint of step {figures['step']}",
    "interrupted": lambda figures: "interrupted",
    "failed": lambda figures: f"failed: {figures.get('error', '')}",
}


@dataclass(frozen=True)
class Happening:
    name: str
    words: str
    step: int
    seconds: float


@dataclass(frozen=True)
class Sample:
    step: int
    prompt: str
    expected: str
    answer: str


@dataclass
class History:
    logs: list[dict[str, float]] = field(default_factory=list)
    """The numbers of each, with the `seconds` that the run had taken by then."""
    evaluations: list[dict[str, float]] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    """What a language model answered at the evaluations."""
    steps: int = 0
    """In all, as planned."""
    verification: str = ""
    began: float | None = None
    last: float = 0.0
    away: float = 0.0
    """Seconds in which nothing ran: the computer slept, or the run waited to be resumed."""
    seconds: float = 0.0
    """In which it ran, up to the last event."""
    unreadable: int = 0
    """Lines of the record that are damaged."""

    def add(self, name: str, figures: dict[str, Any], when: float) -> None:
        """One event, at so many seconds since 1970."""
        self.began = when if self.began is None else self.began
        if name == "resumed":
            self.away += max(when - self.last, 0.0)
        elif name == "slept":
            away = float(figures["seconds"])
            self.away += away if math.isfinite(away) else 0.0
        self.last = when
        self.seconds = max(when - self.began - self.away, 0.0)
        if name in ("log", "evaluation"):
            (self.logs if name == "log" else self.evaluations).append({**_numbers(figures), "seconds": self.seconds})
        elif name == "sample" and len(self.samples) < _MOST_SAMPLES:
            texts = (str(figures[key])[:_LONGEST_WORDS] for key in ("prompt", "expected", "answer"))
            self.samples.append(Sample(int(figures["step"]), *texts))
        elif name == "started":
            self.steps = int(figures["steps"])
        elif name == "verified":
            self.verification = str(figures["words"])[:_LONGEST_WORDS]
        words = _TOLD[name](figures) if name in _TOLD else sentence(name, figures)
        if words:
            step = int(figures.get("step") or self.step)
            self.happenings.append(Happening(name, words[:_LONGEST_WORDS], step, self.seconds))

    @property
    def step(self) -> int:
        """The last one that was told of."""
        told = [each[-1].get("step", 0.0) for each in (self.logs, self.evaluations) if each]
        whole = [int(step) for step in told if math.isfinite(step)]
        return max(whole + [each.step for each in self.happenings[-1:]], default=0)

    @property
    def seconds_left(self) -> float | None:
        return self.logs[-1].get("seconds_left") if self.logs else None


def read_history(path: Path) -> History:
    """What events.jsonl tells. Lines that are no events are counted and left out; a crash may cut off the last."""
    history = History()
    if not path.is_file():
        return history
    with open_plain(path) as file:
        while line := file.readline(_LONGEST_LINE):
            try:
                figures = parse_json(line.decode("utf-8"))
                name, when = figures.pop("event"), datetime.fromisoformat(figures.pop("time")).timestamp()
                history.add(name, figures, when)
            except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, OSError):
                history.unreadable += line.endswith(b"\n")  # a stranger's line can be wrong in any way
    return history


def _numbers(figures: dict[str, Any]) -> dict[str, float]:
    """The numbers of an event. What JSON has no word for stands there as a word: nan, inf, -inf."""
    found = {}
    for key, value in figures.items():
        if value in ("nan", "inf", "-inf") or type(value) is float:
            found[key] = float(value)
        elif type(value) is int and abs(value) < _LARGEST:
            found[key] = value
    return found
