"""What came out of a comparison, as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from rich.markup import escape

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
    """One thing that was compared."""

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


def verdict_lines(verdict: Verdict) -> Iterator[str]:
    """For the terminal: what was compared, how far it is apart, and how far it may be."""
    yield escape(f"{verdict.device} in {verdict.precision} against the CPU: {verdict.rows} rows, {verdict.model}")
    width = max(len(finding.name) for finding in verdict.findings)
    for finding in verdict.findings:
        mark = "[green]ok  [/green]" if finding.agrees else "[red]bad [/red]"
        worst = "" if finding.agrees else _place(finding)
        figures = f"differs by {finding.error:.1e} (up to {finding.allowed:.1e} is rounding){worst}"
        if not finding.is_finite:
            figures = f"is no number there (NaN or infinity), or missing{worst}"
        yield f"{mark}  {finding.name:{width}}  {escape(figures)}"
    rounding = "" if verdict.precision == "fp32" else f", as far as the rounding of {verdict.precision} lets one see"
    good, bad = f"The results are the CPU's{rounding}.", "Not the CPU's results: do not train on it."
    yield "\n" + (good if verdict.agrees else bad)


def _place(finding: Finding) -> str:
    """Where something disagrees."""
    worst = f", worst in {finding.worst}" if finding.worst else ""
    return f"{worst}; begins in {finding.module}" if finding.module else worst
