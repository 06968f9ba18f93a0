"""What Pippin asks of a tracker, and what it tells one at the start. Each tool's file has a ``start``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Figures = dict[str, float]


@dataclass(frozen=True)
class Beginning:
    """A run as a tracker gets to know it."""

    name: str
    project: str
    logging_dir: Path
    """For a tool that writes files."""
    settings: dict[str, Any]
    """Plain values, without secrets."""
    step: int | None = None
    """The step after which an interrupted run goes on; 0 where it begins again; None for a new one."""
    before: str | None = None
    """The ``id`` that the tracker had when the run began; None: the run is new to it."""


class Tracker(Protocol):
    """One run in one tool. All calls come from one thread, which may wait."""

    @property
    def id(self) -> str | None:
        """By which the tool finds the run again, where it needs one."""

    def log(self, figures: Figures, step: int) -> None:
        """Figures at a step, under the keys of Hugging Face's logs: loss, eval_accuracy, train_runtime …"""

    def close(self, ending: str) -> None:
        """The run is over: finished, interrupted or failed."""
