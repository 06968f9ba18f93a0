"""A verdict for people."""

from __future__ import annotations

from pippin.commands.verify.verdict import Verdict
from pippin.report.terminal import Terminal, escape


def show_verdict(terminal: Terminal, verdict: Verdict) -> None:
    """What was compared, how far it is apart, and how far it may be."""
    terminal.line(
        escape(f"{verdict.device} in {verdict.precision} against the CPU: {verdict.rows} rows, {verdict.model}")
    )
    width = max(len(finding.name) for finding in verdict.findings)
    for finding in verdict.findings:
        mark, worst = "[green]ok  [/green]", ""
        if not finding.agrees:
            mark = "[red]bad [/red]"
            worst = f", worst in {finding.worst}" if finding.worst else ""
            worst += f"; begins in {finding.module}" if finding.module else ""
        figures = f"differs by {finding.error:.1e} (up to {finding.allowed:.1e} is rounding){worst}"
        if not finding.is_finite:
            figures = f"is no number there (NaN or infinity), or missing{worst}"
        terminal.line(f"{mark}  {finding.name:{width}}  {escape(figures)}")
    rounding = "" if verdict.precision == "fp32" else f", as far as the rounding of {verdict.precision} lets one see"
    good, bad = f"The results are the CPU's{rounding}.", "Not the CPU's results: do not train on it."
    terminal.line("\n" + (good if verdict.agrees else bad))
