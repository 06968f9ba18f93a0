"""The answer of `pippin preflight` in the terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from pippin.commands.preflight.answer import Answer, Fits, Measured, Runs
from pippin.commands.preflight.compare import Cell, Comparison
from pippin.report.terminal import Terminal
from pippin.text import duration, memory

_WIDTH = 7
_GOOD, _BAD, _NOTE = "green", "red", "yellow"
_MOST_PARTS = 6


def show_answer(answer: Answer, terminal: Terminal) -> None:
    """Runs? Fits? How long? One word for each, and below it what it rests on."""
    target = answer.target
    system = f"macOS {target['macos']} · " if target["macos"] else ""
    terminal.line(f"[bold]{escape(answer.job)}[/bold]")
    terminal.line(escape(f"on {target['name']} · {system}torch {target['torch']} · {target['precision']}\n"))
    _show_runs(answer.runs, terminal)
    if answer.fits:
        _show_fits(answer.fits, terminal)
    if time := answer.duration:
        words = f"about {span(time.likely)} ({span(time.low)} to {span(time.high)}), {time.step:.2g} s a step"
        _say(terminal, "time", f"{words}: an estimate")
        _below(terminal, time.basis)
    elif answer.fits:
        _say(terminal, "time", "unknown: there are no published figures for this device", _NOTE)
    if answer.measured:
        _show_measured(answer.measured, answer.fits, terminal)
    if answer.disk:
        _say(terminal, "disk", f"about {memory(answer.disk)} for checkpoints and the model")
    if answer.unknown:
        _say(terminal, "unknown", answer.unknown, _NOTE)


def show_comparison(comparison: Comparison, terminal: Terminal) -> None:
    """Chips by batch sizes: time, and the smallest memory that holds the job as asked."""
    terminal.line(f"[bold]{escape(comparison.job)}[/bold], {comparison.precision}, on every Mac\n")
    table = Table(box=None, padding=(0, 2), header_style="bold")
    table.add_column("chip (GPU cores)")
    for batch, needed in comparison.needed.items():
        table.add_column(f"batch {batch}\n[dim]{memory(needed)}[/dim]", justify="right")
    for row in comparison.rows:
        cells = [cell_words(cell, "[red]too large[/red]") for cell in row.cells]
        table.add_row(escape(f"{row.chip.removeprefix('Apple ')} ({row.gpu_cores})"), *cells)
    terminal.console.print(table)
    terminal.line(escape(f"\n{legend(comparison)}"))


def cell_words(cell: Cell, too_large: str) -> str:
    """A time, and from how much memory on."""
    return too_large if cell.memory is None else f"{span(cell.seconds)} · {cell.memory} GB"


def span(seconds: float) -> str:
    """A time in words, with a tenth where it is a few minutes.

    >>> span(49.4), span(100), span(3600)
    ('49 s', '1.7 min', '1 h 0 min')
    """
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 600 else duration(seconds)


def legend(comparison: Comparison) -> str:
    """What the figures are, for people."""
    return (
        f"Time of the whole training, and the smallest memory of a Mac with that chip that holds it. Estimates, not "
        f"measured by us: {comparison.basis}. Times may be {comparison.spread:g} times shorter or longer."
    )


def _show_runs(runs: Runs, terminal: Terminal) -> None:
    operators = runs.operators
    seen = f"; its {operators.native} operators run on the GPU" if operators and not operators.findings else ""
    slow = any(not problem.stops for problem in runs.problems)
    words = "no" if not runs.will else ("yes, with notes" if slow else "yes") + seen
    _say(terminal, "runs", words, _GOOD if runs.will else _BAD)
    for problem in runs.problems:
        _below(terminal, problem.what, _BAD if problem.stops else _NOTE)
        _below(terminal, f"→ {problem.cure}")


def _show_fits(fits: Fits, terminal: Terminal) -> None:
    of_budget = f" of {memory(fits.budget)}" if fits.budget else ""
    verdict = "no" if not fits.will else "yes, with these settings" if fits.settings else "yes"
    _say(terminal, "fits", f"{verdict}: about {memory(fits.needed)}{of_budget}", _GOOD if fits.will else _BAD)
    largest = list(fits.parts.items())[:_MOST_PARTS]
    _below(terminal, " · ".join(f"{name} {memory(size)}" for name, size in largest))
    for name, words in fits.settings.items():
        _below(terminal, f"{name.replace('_', '-')}: {words} ({memory(fits.as_asked)} as asked)", _NOTE)
    for option in fits.options:
        fitting = "fits" if option.needed <= fits.budget else "does not fit either"
        _below(terminal, f"{option.flags}: about {memory(option.needed)}, {fitting} ({option.note})")
    if fits.smallest:
        what = "as asked" if fits.will else "at all"
        _below(terminal, f"the smallest Macs that hold it {what}: {', '.join(fits.smallest)}")


def _show_measured(measured: Measured, fits: Fits | None, terminal: Terminal) -> None:
    if measured.trouble:
        _say(terminal, "tried", measured.trouble, _BAD)
        return
    words = f"a step took {measured.step:.2g} s" if measured.step is not None else "a step was run"
    if measured.peak is not None:
        words += f" and {memory(measured.peak)}"
        words += f" ({measured.peak / fits.needed:.0%} of what was foreseen)" if fits else ""
    _say(terminal, "tried", words, _GOOD)


def _say(terminal: Terminal, name: str, words: str, colour: str = "cyan") -> None:
    terminal.line(f"[{colour}]{name:{_WIDTH}}[/{colour}] {escape(words)}")


def _below(terminal: Terminal, words: str, colour: str = "") -> None:
    text = " " * (_WIDTH + 1) + escape(words)
    terminal.line(f"[{colour}]{text}[/{colour}]" if colour else text)
