"""A clock that stands still until it is moved."""

from __future__ import annotations

from pippin.training.sleep import Clock


class HandClock(Clock):
    def __init__(self) -> None:
        object.__setattr__(self, "times", {"wall": 1_700_000_000.0, "running": 50.0})
        super().__init__(lambda: self.times["wall"], lambda: self.times["running"])

    def work(self, seconds: float) -> None:
        """Time that both clocks count."""
        self.times["wall"] += seconds
        self.times["running"] += seconds

    def sleep(self, seconds: float) -> None:
        """Time that only the clock on the wall counts."""
        self.times["wall"] += seconds
