"""All that a person sees in the terminal. No other module knows about colours, bars or widths."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO, cast

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape as escape_markup
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from pippin.machine.check import BAD, NOTE, OK, Check
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.redact import remember_secret, without_secrets
from pippin.report.happenings import Figures
from pippin.report.plan_words import plan_rows
from pippin.report.report import Report, scores
from pippin.report.stream import LastingStream
from pippin.report.usage import use_line
from pippin.tasks import parts
from pippin.text import clock_time, duration, epochs, memory, visible

#: Tables of a task are shown up to so many rows, matrices up to so many; report.json has them all.
_MOST_ROWS, _MOST_IN_MATRIX = 20, 8
#: What the head "predicted" takes up.
_PREDICTED_WIDTH = 11
#: A name is shown by so many characters at least.
_SHORTEST_NAME = 4
#: Share of the time from which on saving is worth a word.
_WORTH_SAYING = 0.02
#: Where the output is a file or a pipe, tables may be as wide as this.
_PIPE_WIDTH = 160
#: Below this, a choice of the plan and its reason stand under each other.
_NARROW = 72
#: Characters of an example.
_LONGEST_EXAMPLE = 1200
#: What a reason below its choice is indented by.
_INDENT = 6


class Terminal:
    """Prints notes, the plan, progress and results; says less when asked to."""

    def __init__(
        self, quiet: bool = False, live: bool = True, console: Console | None = None, says_where: bool = False
    ):
        self.console = console or make_console(sys.stdout)
        self.quiet = quiet
        self.says_where = says_where or not quiet
        """Whether the place of the results is told all the same."""
        self.on_screen = self.console.file.isatty()
        self.live = live and self.on_screen and not self.console.is_dumb_terminal and not _in_ci() and not quiet

    @classmethod
    def for_recipe(cls, recipe: Recipe) -> Terminal:
        remember_secret(recipe.token)
        hushed = recipe.log_level in ("warning", "error", "critical")
        return cls(quiet=recipe.quiet or hushed, live=not recipe.disable_tqdm, says_where=recipe.quiet)

    def say(self, text: str) -> None:
        if not self.quiet:
            self.line(escape(text))

    def note(self, text: str) -> None:
        """Something worth knowing."""
        if not self.quiet:
            self.line(f"[dim]note:[/dim] {escape(text)}")

    def warn(self, text: str) -> None:
        """Something that may be wrong; never hidden."""
        self.line(f"[yellow]warning:[/yellow] {escape(text)}")

    def line(self, markup: str, whole: bool = False) -> None:
        """One line; only a terminal breaks it to its width, unless it is to stay whole."""
        self.console.print(visible(markup), soft_wrap=whole or not self.on_screen, emoji=False)

    def on_event(self, name: str, figures: Figures) -> bool:
        """Whether an event of a run is shown here in a way of its own; a terminal shows lines and a bar."""
        return False

    def say_where(self, markup: str) -> None:
        """Where the results are: told even when quiet, and never broken, so that a path can be copied."""
        if self.says_where:
            self.line(markup, whole=True)

    def show_plan(self, plan: Plan, headline: str, trains: bool = True) -> None:
        """The plan, one choice a line with its reason; without training, only what concerns the rest."""
        if self.quiet:
            return
        self.console.print(f"[bold]{escape(headline)}[/bold]", emoji=False)
        rows = [
            (name, Text(visible(value), style="cyan"), Text(visible(reason)))
            for name, value, reason in plan_rows(plan, trains)
        ]
        if self.console.width < _NARROW:
            for name, value, reason in rows:
                self.console.print(Text.assemble(f"  {name}  ", value))
                self._indented([reason])
            return
        table = Table.grid(padding=(0, 2))
        for name, value, reason in rows:
            table.add_row(f"  {name}", value, reason)
        self.console.print(table)

    def _indented(self, texts: Sequence[str | Text]) -> None:
        for text in texts:
            self.console.print(Padding(text, (0, 0, 0, _INDENT)), emoji=False)

    def show_findings(self, columns: str, notes: list[str], warnings: list[str]) -> None:
        """What was found in the data."""
        self.say(f"columns: {columns}")
        for text in notes:
            self.note(text)
        for text in warnings:
            self.warn(text)

    def show_example(self, text: str, marks: Sequence[tuple[int, int, str]]) -> None:
        """A row as the model reads it: what is learnt in colour, or in brackets where there is none."""
        if self.quiet:
            return
        shown, edges = Text("  "), [0, *(edge for mark in marks for edge in mark[:2]), len(text)]
        for number, (start, end) in enumerate(zip(edges, edges[1:], strict=False)):
            part = visible(text[start:end])
            said = part.rstrip("\n")
            if number % 2:
                shown.append(said if self.console.is_terminal else f"⟦{said}⟧", style="green")
            else:
                shown.append(said, style="dim")
            shown.append(part[len(said) :])
        shown = Text("\n  ").join(shown.split("\n"))
        if len(shown) > _LONGEST_EXAMPLE:
            shown = shown[:_LONGEST_EXAMPLE].append(" …")
        self.line("an example, as the model reads it; what is learnt is [green]marked[/green]:")
        self.console.print(shown, emoji=False, soft_wrap=not self.on_screen)

    def show_checks(self, checks: list[Check], ready: bool) -> None:
        """The doctor's findings: one a line, with the reason and the cure below where there is one."""
        marks = {OK: "[green]ok  [/green]", NOTE: "[yellow]note[/yellow]", BAD: "[red]bad [/red]"}
        width = max(len(check.name) for check in checks)
        for check in checks:
            reasons = [text for text in (check.why, check.todo and f"→ {check.todo}") if text and check.status != OK]
            mark, name, texts = marks[check.status], escape(check.name), [escape(check.found), *map(escape, reasons)]
            if self.on_screen and self.console.width < _NARROW:
                self.line(f"{mark}  {name}")
                self._indented(texts)
            elif self.on_screen:
                table = Table.grid(padding=(0, 2))
                table.add_column(no_wrap=True)
                table.add_column(no_wrap=True, min_width=width)
                for place, text in enumerate(texts):
                    table.add_row(*(["", ""] if place else [mark, name]), text)
                self.console.print(table)
            else:
                self.line(f"{mark}  {name:{width}}  {texts[0]}")
                for text in texts[1:]:
                    self.line(" " * (width + 8) + text)
        self.line("\nReady." if ready else "\nNot ready: fix what is marked bad, starting at the top.")

    def show_report(self, report: Report) -> None:
        """The result first, then where it is; when quiet, only that and what nobody should miss."""
        if not self.quiet:
            self._show_results(report)
        for remark in report.remarks:
            self.warn(remark)
        kind = "results" if report.best_step is None else "saved"
        self.say_where(f"{kind} in [bold]{escape(report.folder)}[/bold]")
        if self.quiet:
            return
        self.say_where(escape(f"report: {report.folder}/report.html"))
        if report.best_step is not None:
            self.say_where(escape(f"try it: {use_line(report.command, report.folder, report.text_columns)}"))

    def _show_results(self, report: Report) -> None:
        self.console.print()
        for split, title in (("eval", "validation"), ("test", "test")):
            if figures := scores(report.results, split):
                shown = " · ".join(_figure(report, split, name, value) for name, value in figures.items())
                self.line(f"{title}: {shown} ({report.results.get(f'{split}_samples')} rows)")
        for part in report.parts:
            if part.in_brief and part.table and len(part.table.rows) <= _MOST_ROWS:
                self._show_part(part.title, part.table, part.matrix)
        if "train_runtime" in report.results:
            self.line(" · ".join(_training_words(report)))
        if report.fallbacks:
            used = [f"{name} {use.calls} times, {use.share:.1%} of the time" for name, use in report.fallbacks.items()]
            self.line(escape(f"ran on the CPU, because the device has no kernel for it: {'; '.join(used)}"))

    def _show_part(self, title: str, part: parts.TablePart, matrix: parts.Matrix | None) -> None:
        """A table, and how often each class was predicted for each, where there is room for it."""
        rows = [[_cell(cell, how) for cell, how in zip(row, part.formats, strict=False)] for row in part.rows]
        names = [row[0] for row in rows]
        longest = max(map(cell_len, names))
        matrix_width = sum(max(cell_len(name), 3) + 2 for name in names)
        cells = [list(column) for column in zip(part.heads, *rows, strict=True)]
        left = self.console.width - 2 - sum(max(map(cell_len, column)) + 2 for column in cells[1:])
        with_matrix = matrix is not None and len(names) <= _MOST_IN_MATRIX
        with_matrix = with_matrix and longest + _PREDICTED_WIDTH + matrix_width <= left
        shown = Text(title[:1].lower() + title[1:], "table.title")
        table = Table(title=shown, title_justify="left", box=None, padding=(0, 2, 0, 0))
        # The figures keep their place; a name that is too long for what they leave is cut.
        first, *others = [head.lower() for head in part.heads]
        table.add_column(Text(first), no_wrap=True, overflow="ellipsis", max_width=max(left, _SHORTEST_NAME))
        for heading in [*others, *(["predicted", *names] if with_matrix else [])]:
            table.add_column(Text(heading), justify="right", no_wrap=True)
        for place, row in enumerate(rows):
            counts = ["", *(str(count or "·") for count in matrix.counts[place])] if matrix and with_matrix else []
            table.add_row(*map(Text, row), *counts)
        self.console.print(table)
        if part.caption:
            self.note(part.caption)

    @contextmanager
    def rows_bar(self, total: int | None, what: str) -> Iterator[Callable[[int], None]]:
        """A bar over rows, of which nobody may know how many come; gives the function that advances it."""
        if not self.live:
            yield lambda count: None
            return
        title = TextColumn("{task.description}", markup=False)
        figures = TextColumn("{task.completed}" if total is None else "{task.completed}/{task.total}")
        bar = Progress(title, BarColumn(), figures, console=self.console)
        task = bar.add_task(visible(what), total=total)
        with bar:
            yield lambda count: bar.advance(task, count)


def make_console(stream: TextIO) -> Console:
    """A console on standard output or standard error that outlives its reader."""
    # Whatever FORCE_COLOR makes of it, only a terminal has a width of its own.
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(file=cast(TextIO, LastingStream(stream)), highlight=False, width=width)


def _in_ci() -> bool:
    """Logs of builds keep every state of a bar, one below the other."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def escape(text: str) -> str:
    """Words from anywhere as words: no markup, no control characters, no secrets."""
    return escape_markup(visible(without_secrets(text)))


def _figure(report: Report, split: str, name: str, value: float) -> str:
    """A metric by name, and beside the first one what the simplest answer would score."""
    shown = f"{escape(name)} [bold]{value:.4f}[/bold]"
    baselines = scores(report.baselines, split)
    if name not in baselines or name.removesuffix("_mm") != next(iter(baselines)):
        return shown
    return f"{shown} ({baselines[name]:.4f} by {escape(report.baseline_answer)})"


def _training_words(report: Report) -> Iterator[str]:
    """How long it trained, what it took, and which model is kept."""
    seconds = report.results["train_runtime"]
    took = clock_time(seconds) if seconds >= 1 else duration(seconds)
    yield f"trained for {epochs(report.results['epoch'])} in {took}"
    if report.stopped_early:
        yield "stopped early"
    if (share := report.saving_seconds / max(seconds, 1e-9)) >= _WORTH_SAYING:
        yield f"{share:.0%} of it spent saving"
    yield f"peak memory {memory(report.peak_memory)}"
    yield f"kept the model from step {report.best_step}"


def _cell(value: object, how: str) -> str:
    """A cell of a table; what does not exist is a dash, and words in a column of numbers stay as they are."""
    if value is None:
        return "–"
    return format(value, how) if how not in ("", "long") and isinstance(value, int | float) else visible(str(value))
