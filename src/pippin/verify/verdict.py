"""What came out of a comparison, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that was compared."""

    name: str
    error: float
    """Relative to the size of what was compared; infinite (in JSON: null) where a number is not finite."""
    allowed: float
    worst: str = ""
    """The parameter with the largest error, where there are several."""

    @property
    def agrees(self) -> bool:
        return self.error <= self.allowed


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
