"""A run's events, gathered for its page: from events.jsonl, or one by one while it goes on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pippin.report.happenings import sentence

#: Events that are told on the page, beside those that the terminal tells of.
_TOLD = {
    "resumed": lambda figures: f"the run went on from step {figures['step']}",
    "saved": lambda figures: f"checkpoint of step {figures['step']}",
    "interrupted": lambda figures: "interrupted",
    "failed": lambda figures: f"failed: {figures.get('error', '')}",
}


@dataclass(frozen=True)
class Happening:
    """Something that is told in a sentence."""

    name: str
    words: str
    step: int
    minute: float


@dataclass
class History:
    logs: list[dict[str, Any]] = field(default_factory=list)
    """Each with the `minute` of the run in which it was written."""
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    happenings: list[Happening] = field(default_factory=list)
    steps: int = 0
    """In all, as planned."""
    verification: str = ""
    began: float | None = None
    last: float = 0.0
    away: float = 0.0
    """Seconds in which nothing ran: the computer slept, or the run waited to be taken up."""
    unreadable: int = 0
    """Lines of the record that are damaged."""

    def add(self, name: str, figures: dict[str, Any], when: float) -> None:
        """One event, at so many seconds since 1970."""
        self.began = when if self.began is None else self.began
        if name == "resumed":
            self.away += max(when - self.last, 0.0)
        elif name == "slept":
            self.away += float(figures["seconds"])
        self.last = when
        minute = max(when - self.began - self.away, 0.0) / 60
        if name == "log":
            self.logs.append({**figures, "minute": minute})
        elif name == "evaluation":
            self.evaluations.append({**figures, "minute": minute})
        elif name == "started":
            self.steps = int(figures["steps"])
        elif name == "verified":
            self.verification = str(figures["words"])
        words = _TOLD[name](figures) if name in _TOLD else sentence(name, figures)
        if words:
            step = int(figures.get("step") or self.step)
            self.happenings.append(Happening(name, words, step, minute))

    @property
    def step(self) -> int:
        """The last one that was told of."""
        told = [each[-1]["step"] for each in (self.logs, self.evaluations) if each]
        return max([int(step) for step in told] + [each.step for each in self.happenings[-1:]], default=0)

    @property
    def seconds_left(self) -> float | None:
        return float(self.logs[-1]["seconds_left"]) if self.logs else None


def read_history(path: Path) -> History:
    """What events.jsonl tells. Lines that cannot be read are counted and left out; a crash may cut off the last."""
    history = History()
    if not path.is_file():
        return history
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                figures = json.loads(line)
                name, when = figures.pop("event"), datetime.fromisoformat(figures.pop("time")).timestamp()
                history.add(name, figures, when)
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
                history.unreadable += line.endswith("\n")
    return history
