"""One fine-tuning job as both libraries are asked to do it, and how its speed is read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Job:
    """Files of rows (`Rows.write`), a model's folder and the hyper-parameters that both sides share."""

    model: str
    train: Path
    test: Path | None = None
    """Rows for the accuracy; none: no accuracy."""
    epochs: int = 2
    steps: int | None = None
    """Instead of epochs."""
    batch: int = 32
    rate: float = 5e-5
    seed: int = 1
    max_length: int = 128

    def total_steps(self, rows: int) -> int:
        return self.steps or self.epochs * math.ceil(rows / self.batch)

    def timed_after(self, rows: int) -> int:
        """The step after which time counts: half of them, which is the first of two epochs."""
        return self.total_steps(rows) // 2

    def rows_timed(self, rows: int) -> int:
        """Rows in the second half of the steps; the last batch of an epoch may be short."""

        def rows_of(steps: int) -> int:
            whole, rest = divmod(steps, math.ceil(rows / self.batch))
            return whole * rows + rest * self.batch

        return rows_of(self.total_steps(rows)) - rows_of(self.timed_after(rows))

    def speed(self, rows: int, start: float, half: float, end: float) -> dict[str, float]:
        """Speed over the second half of the steps, and by how much longer the first took: compiling, capturing."""
        return {
            "samples_per_second": self.rows_timed(rows) / (end - half),
            "set_up_seconds": max(0.0, (half - start) - (end - half)),
        }
