"""Which evaluation was the best so far, and whether it is time to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class BestSoFar:
    """Follows one metric. A tie is no improvement: the earlier model is kept, and patience runs on.

    A gain up to ``threshold`` is kept, but patience runs on too; as transformers does it.
    """

    metric: str
    greater_is_better: bool
    patience: int = 0
    threshold: float = 0.0
    value: float | None = None
    step: int = 0
    without_gain: int = 0

    def update(self, value: float, step: int) -> bool:
        """Take a new evaluation; returns whether it is the one to keep."""
        gain = float("inf") if self.value is None else (value - self.value) * (1 if self.greater_is_better else -1)
        if math.isnan(value):  # NaN is no gain, and nothing to compare with later
            gain = -float("inf")
        self.without_gain = 0 if gain > self.threshold else self.without_gain + 1
        if gain > 0:
            self.value, self.step = value, step
        return gain > 0

    @property
    def should_stop(self) -> bool:
        return 0 < self.patience <= self.without_gain
