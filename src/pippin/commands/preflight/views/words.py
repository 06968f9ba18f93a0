"""The answer of `pippin preflight` in the terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from pippin.commands.preflight.answer import Answer, Fits, Measured, Runs
from pippin.commands.preflight.compare import Comparison, Row
from pippin.report.terminal import Terminal
from pippin.text import duration, memory

_WIDTH = 7
_GOOD, _BAD, _NOTE = "green", "red", "yellow"
_MOST_PARTS = 6
_PARTS = {"held before": "already in use"}


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
        around = f"{span(time.low)} to {span(time.high)}; {span(time.step)} per step"
        _say(terminal, "time", f"about {span(time.likely)} ({around})")
        _below(terminal, time.basis)
    elif answer.fits:
        _say(terminal, "time", "unknown: there are no published figures for this device", _NOTE)
    for each in answer.links:
        in_all = f"{span(each.steps * each.low)} to {span(each.steps * each.high)} in all"
        _say(terminal, "link", f"{each.link} adds {span(each.low)} to {span(each.high)} per step, {in_all}")
    if answer.links:
        sent = f"{memory(answer.links[0].sent_bytes)} each way per step"
        _below(
            terminal, f"{answer.links[0].computers} computers exchange gradients, {sent}; not measured by us on Macs"
        )
    if answer.measured:
        _show_measured(answer.measured, answer.fits, terminal)
    if answer.disk:
        _say(terminal, "disk", f"about {memory(answer.disk)} for checkpoints and the model")
    if answer.unknown:
        _say(terminal, "unknown", answer.unknown, _NOTE)


def show_comparison(comparison: Comparison, terminal: Terminal) -> None:
    """Chips by batch sizes: time, and the smallest memory that holds the job as asked."""
    terminal.line(f"[bold]{escape(heading(comparison))}[/bold]\n")
    table = Table(box=None, padding=(0, 2), header_style="bold")
    table.add_column("chip (GPU)")
    for batch, needed in comparison.needed.items():
        table.add_column(f"batch size {batch}\n[dim]{memory(needed)}[/dim]", justify="right")
    for row in comparison.rows:
        cells = [
            f"{span(cell.seconds)} · {cell.memory:3} GB" if cell.memory else "[red]does not fit[/red]"
            for cell in row.cells
        ]
        table.add_row(escape(chip_words(row)), *cells)
    terminal.console.print(table)
    for sentence in explanation(comparison):
        terminal.line(escape(f"\n{sentence}"))


def heading(comparison: Comparison) -> str:
    return f"{comparison.job} on every Mac, in {comparison.precision}"


def chip_words(row: Row) -> str:
    return f"{row.chip.removeprefix('Apple ')} ({row.gpu_cores} cores)"


def explanation(comparison: Comparison) -> tuple[str, ...]:
    """What the figures are, for people."""
    return (
        "Each cell: the time of the whole training, and the smallest memory of a Mac with that chip in which it fits.",
        f"Times are estimates and may be {comparison.spread:g} times shorter or longer. None was measured by us on a "
        f"Mac: they are {comparison.basis}.",
    )


def span(seconds: float) -> str:
    """A time in words, with two digits where it is short.

    >>> [span(seconds) for seconds in (0.0214, 0.42, 5.4, 49.4, 100, 3600)]
    ['21 ms', '0.42 s', '5.4 s', '49 s', '1.7 min', '1 h 0 min']
    """
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 59.5:
        return f"{seconds:.{0 if seconds >= 9.95 else 1 if seconds >= 0.995 else 2}f} s"
    return f"{seconds / 60:.1f} min" if seconds < 600 else duration(seconds)


def _show_runs(runs: Runs, terminal: Terminal) -> None:
    operators = runs.operators
    seen = f": all {operators.native} operators run on the GPU" if operators and not operators.findings else ""
    noted = ", with notes" if any(not problem.stops for problem in runs.problems) else ""
    _say(terminal, "runs", f"yes{noted}{seen}" if runs.will else "no", _GOOD if runs.will else _BAD)
    for problem in runs.problems:
        _below(terminal, problem.what, _BAD if problem.stops else _NOTE)
        _below(terminal, f"→ {problem.cure}")


def _show_fits(fits: Fits, terminal: Terminal) -> None:
    of_budget = f" of {memory(fits.budget)}" if fits.budget else ""
    changed = ", with the changes below" if fits.settings else ""
    verdict = "no" if not fits.will else f"tight: likely to swap or stop{changed}" if fits.is_tight else f"yes{changed}"
    colour = _BAD if not fits.will else _NOTE if fits.is_tight else _GOOD
    _say(terminal, "fits", f"{verdict}: needs about {memory(fits.needed)}{of_budget}", colour)
    parts = [f"{_PARTS.get(name, name)} {memory(size)}" for name, size in fits.parts.items()]
    _below(terminal, " · ".join(parts[:_MOST_PARTS]))
    for name, words in fits.settings.items():
        _below(terminal, f"{name.replace('_', '-')}: {words}", _NOTE)
    if fits.settings:
        _below(terminal, f"as asked, it would need {memory(fits.as_asked)}; the gradient is the same either way")
    for option in fits.options:
        fitting = "fits" if option.needed <= fits.budget else "does not fit either"
        _below(terminal, f"{option.flags}: about {memory(option.needed)}, {fitting} ({option.note})")
    if fits.smallest:
        what = "as asked on" if fits.will else "on"
        _below(terminal, f"the smallest Macs it fits {what}: {', '.join(fits.smallest)}")


def _show_measured(measured: Measured, fits: Fits | None, terminal: Terminal) -> None:
    if measured.trouble:
        _say(terminal, "tried", measured.trouble, _BAD)
        return
    words = f"one step took {span(measured.step)}" if measured.step is not None else "one step was run"
    if measured.peak is not None:
        words += f" and {memory(measured.peak)}"
        words += f" ({measured.peak / fits.needed:.0%} of the forecast)" if fits else ""
    _say(terminal, "tried", words, _GOOD)


def _say(terminal: Terminal, name: str, words: str, colour: str = "cyan") -> None:
    terminal.line(f"[{colour}]{name:{_WIDTH}}[/{colour}] {escape(words)}")


def _below(terminal: Terminal, words: str, colour: str = "") -> None:
    text = " " * (_WIDTH + 1) + escape(words)
    terminal.line(f"[{colour}]{text}[/{colour}]" if colour else text)
