"""A benchmark in the terminal: the way there, the tables, the answer."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from pippin.commands.bench.results import PIPPIN, Bench, Setting
from pippin.commands.bench.views.document import Document, bench_document, comparison_document
from pippin.report.terminal import Terminal
from pippin.text import clock_time, visible

_BAR_WIDTH = 16


class BenchProgress:
    """What is measured now and the time left: a bar in a terminal, and a line for each round elsewhere."""

    def __init__(self, terminal: Terminal, seconds: float):
        self.terminal, self.seconds = terminal, seconds
        self._said: tuple[object, ...] = ()
        self._bar: Progress | None = None
        if terminal.live:
            words = TextColumn("{task.description}", markup=False)
            self._bar = Progress(words, BarColumn(bar_width=_BAR_WIDTH), console=terminal.console, transient=True)
            self._bar.add_task("getting ready", total=seconds)

    def __enter__(self) -> BenchProgress:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            self._bar.stop()

    def show(self, setting: Setting, repeat: int, repeats: int, left: float) -> None:
        """A setting is about to be measured."""
        turn = f"repeat {repeat} of {repeats}" if repeat else "warm-up"
        rest = f"{turn} · about {clock_time(left)} left"
        if self._bar:
            what = [setting.test, setting.device, f"batch {setting.batch}"]
            what += [] if setting.length is None else [f"{setting.length} tokens {setting.precision}"]
            what += [] if setting.library == PIPPIN else [setting.library]
            words = visible(" · ".join([*what, rest]))
            self._bar.update(self._bar.task_ids[0], description=words, completed=self.seconds - left)
        elif self._said != (setting.test, turn):
            self._said = (setting.test, turn)
            self.terminal.say(f"{setting.test} · {rest}")
            sys.stdout.flush()


def show_bench(bench: Bench, terminal: Terminal) -> None:
    _show(bench_document(bench), terminal)


def show_comparison(benches: Sequence[Bench], terminal: Terminal) -> None:
    _show(comparison_document(benches), terminal)


def _show(document: Document, terminal: Terminal) -> None:
    """Tables, what to know of them, and the answer last, where it is seen."""
    if terminal.quiet:
        return
    terminal.say("\n" + "\n".join(document.machines))
    for sheet in document.sheets:
        terminal.say(f"\n{sheet.title}")
        table, numbers = Table(box=None, padding=(0, 2, 0, 0)), sheet.numbers
        for place, head in enumerate(sheet.heads):
            table.add_column(Text(visible(head)), justify="right" if place in numbers else "left")
        for row in sheet.rows:
            table.add_row(*(Text(visible(cell)) for cell in row))
        terminal.console.print(table)
    terminal.say("")
    for words in document.notes:
        terminal.note(words)
    for words in document.warnings:
        terminal.warn(words)
    terminal.say(f"\n{document.answer}")
