"""What came out of a comparison: as plain data, and for people."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pippin.report.terminal import Terminal, escape

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
    def figures(self) -> str:
        if not math.isfinite(self.error):
            return "NaN, infinite or missing"
        return f"error {self.error:.1e}, allowed {self.allowed:.1e}"


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
        return max(self.findings, key=lambda finding: finding.error / finding.allowed)


def show_verdict(terminal: Terminal, verdict: Verdict) -> None:
    """What was compared, how far it is apart, and how far it may be."""
    compared = f"{verdict.rows} rows, {verdict.model}"
    terminal.line(escape(f"{verdict.device} in {verdict.precision} against the CPU: {compared}"))
    width = max(len(finding.name) for finding in verdict.findings)
    for finding in verdict.findings:
        mark, place = "[green]ok  [/green]", ""
        if not finding.agrees:
            mark = "[red]bad [/red]"
            place = f", worst in {finding.worst}" if finding.worst else ""
            place += f"; starts in {finding.module}" if finding.module else ""
        terminal.line(f"{mark}  {finding.name:{width}}  {escape(finding.figures + place)}")
    rounding = "" if verdict.precision == "fp32" else f", within the rounding of {verdict.precision}"
    good = f"The results match the CPU's{rounding}."
    terminal.line("\n" + (good if verdict.agrees else "The results differ from the CPU's: do not train on it."))
