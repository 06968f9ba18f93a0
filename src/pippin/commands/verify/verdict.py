"""What came out of a comparison, as plain data."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: What is compared.
EVALUATION = "logits in evaluation"
TRAINING = "logits in training"
MODES = "evaluation against training"
LOSS = "loss"
GRADIENTS = "gradients"
STEP = "weights after a step"
LATER = "tokens before a changed one"
PADDED = "a row beside a longer one"
AGAIN = "a second time"


@dataclass(frozen=True)
class Finding:
    name: str
    error: float
    """Relative to the size of what was compared; infinite (in JSON: null) where a number is not finite."""
    allowed: float
    worst: str = ""
    """The parameter that is farthest beyond what is allowed, or nearest to it, where there are several."""
    module: str = ""
    """Where it disagrees: the first module, by its path, that is wrong alone too, given the CPU's input."""

    @property
    def agrees(self) -> bool:
        return self.error <= self.allowed

    @property
    def is_finite(self) -> bool:
        """Whether there were numbers to compare."""
        return math.isfinite(self.error)

    @property
    def share(self) -> float:
        """Of what is allowed."""
        return self.error / self.allowed


@dataclass(frozen=True)
class Verdict:
    device: str
    precision: str
    model: str
    rows: int
    findings: tuple[Finding, ...]

    @property
    def agrees(self) -> bool:
        return all(finding.agrees for finding in self.findings)

    @property
    def worst(self) -> Finding:
        """The finding farthest beyond what is allowed, or nearest to it."""
        return max(self.findings, key=lambda finding: finding.share)
