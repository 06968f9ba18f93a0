"""A benchmark in the terminal: the way there, the tables, the sentence."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from pippin.commands.bench.results import Bench, Setting
from pippin.commands.bench.views.sentence import sentence
from pippin.commands.bench.views.series import EMULATED_NOTE, machine_words, software_words
from pippin.commands.bench.views.sheets import Sheet, compared_sheets, sheets
from pippin.report.terminal import Terminal
from pippin.text import clock_time, visible

_BAR_WIDTH = 16
#: Spread of the repeats from which on figures are not to be trusted.
_UNSTEADY = 0.5


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
        if self._bar:
            what = f"{visible(_words(setting))} · {turn} · about {clock_time(left)} left"
            self._bar.update(self._bar.task_ids[0], description=what, completed=self.seconds - left)
            return
        place = (setting.test, turn)
        if place != self._said:
            self._said = place
            self.terminal.say(f"{setting.test} · {turn} · about {clock_time(left)} left")
            sys.stdout.flush()


def _words(setting: Setting) -> str:
    parts = [setting.test, setting.device, f"batch {setting.batch}"]
    if setting.length is not None:
        parts.append(f"{setting.length} tokens {setting.precision}")
    if setting.library != "pippin":
        parts.append(setting.library)
    return " · ".join(parts)


def show_bench(bench: Bench, terminal: Terminal) -> None:
    """Tables, what was left out, and the sentence."""
    terminal.say(f"\n{bench.model} on {machine_words(bench)}\n{software_words(bench)}")
    for sheet in sheets(bench):
        _show(sheet, terminal)
    for words in notes(bench):
        terminal.note(words)
    terminal.say(f"\n{sentence(bench)}")


def show_comparison(benches: Sequence[Bench], terminal: Terminal) -> None:
    """Machines side by side."""
    for number, bench in enumerate(benches, 1):
        terminal.say(f"{number}: {machine_words(bench)} · {bench.model} · {bench.date[:10]} · {software_words(bench)}")
    for sheet in compared_sheets(benches):
        _show(sheet, terminal)
    for number, bench in enumerate(benches, 1):
        for words in notes(bench):
            terminal.note(f"{number}: {words}")
    for words in differences(benches):
        terminal.warn(words)


def notes(bench: Bench) -> list[str]:
    """What a reader of the figures has to know."""
    once = any(len(point.seconds) == 1 for point in bench.points)
    spread = max((point.spread for point in bench.points), default=0.0)
    unsteady = spread > _UNSTEADY
    found = {
        f"{', '.join(bench.emulated)} is {EMULATED_NOTE}.": bench.emulated,
        "the model's weights are random: only its speed means something.": bench.random_weights,
        "the benchmark was interrupted: these are the figures until then.": not bench.complete,
        "some settings were measured only once, so nobody knows how far their figures are off.": once,
        f"repeats are up to {spread:.0%} apart: the machine was busy with other things, or got hot.": unsteady,
        f"left out, for want of time (--minutes gives more): {'; '.join(bench.left_out)}.": bench.left_out,
    }
    return [words for words, holds in found.items() if holds]


def differences(benches: Sequence[Bench]) -> list[str]:
    """Why machines may not be comparable."""
    values = {
        "models": {bench.model for bench in benches},
        "data": {bench.data for bench in benches},
        "numbers of training rows": {str(bench.training_rows) for bench in benches},
    }
    return [f"these are not the same {what}: {', '.join(sorted(n))}." for what, n in values.items() if len(n) > 1]


def _show(sheet: Sheet, terminal: Terminal) -> None:
    if terminal.quiet:
        return
    terminal.say(f"\n{sheet.title}")
    table = Table(box=None, padding=(0, 2, 0, 0))
    for place, head in enumerate(sheet.heads):
        words = place == 0 or not head
        table.add_column(Text(visible(head)), justify="left" if words else "right")
    for row in sheet.rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    terminal.console.print(table)
