"""What ran on the CPU because the device has no kernel for it, as plain data."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class Fallback:
    calls: int
    seconds: float
    share: float = 0.0
    """Of the job's time."""


@dataclass
class Fallbacks:
    operators: dict[str, Fallback] = field(default_factory=dict)
    """By name, as torch writes it: aten::cumsum."""
    started: float = field(default_factory=time.perf_counter)

    def add(self, name: str, seconds: float) -> None:
        before = self.operators.get(name, Fallback(0, 0.0))
        self.operators[name] = Fallback(before.calls + 1, before.seconds + seconds)

    def by_cost(self) -> dict[str, Fallback]:
        """The costliest first, with its share of the time since the start."""
        elapsed = max(time.perf_counter() - self.started, 1e-9)
        ranked = sorted(self.operators.items(), key=lambda item: -item[1].seconds)
        return {name: replace(use, share=use.seconds / elapsed) for name, use in ranked}
