"""A run as it goes: the bar or lines of the log, evaluations, and what a person should hear of at once."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TextIO

from rich.progress import BarColumn, Progress, TextColumn

from pippin.report.happenings import NOTES, WARNINGS, Figures
from pippin.report.report import scores
from pippin.report.terminal import Terminal, escape
from pippin.text import clock_time, fit, memory, shorter

#: The bar's width where there is room, and where there is little.
_WIDEST, _NARROWEST = 16, 4
#: What the time left and the rest of the line take up beside the bar.
_BESIDE = 34


#: Characters of a sample that are shown.
_LONGEST_PROMPT, _LONGEST_ANSWER = 50, 100


class TrainingProgress:
    """Listens to a run's events."""

    def __init__(self, terminal: Terminal):
        self.terminal = terminal
        self.bar: Progress | None = None
        self.beside = ExitStack()
        """What ends with the bar."""
        self.bar_width = _WIDEST
        self.total_steps = 0
        self.sampled = False

    def on_event(self, name: str, figures: Figures) -> None:
        """Show an event; warnings are shown even when quiet."""
        if self.terminal.on_event(name, figures):
            return
        if name in WARNINGS:
            self.terminal.warn(WARNINGS[name](figures))
        elif name in NOTES:
            self.terminal.note(NOTES[name](figures))
        elif name == "trained":
            self.stop()
        elif self.terminal.quiet:
            return
        elif name == "started":
            self._start(figures["steps"])
        elif name == "log":
            self._show_log(figures)
        elif name == "evaluation":
            self._show_evaluation(figures)
            self.sampled = False
        elif name == "sample" and not self.sampled:  # the page has them all
            self._show_sample(figures)
            self.sampled = True

    def stop(self) -> None:
        """Take the bar away."""
        self.beside.close()
        self.bar = None

    def _start(self, steps: int) -> None:
        self.total_steps = steps
        if self.terminal.live:
            self.bar_width = max(_NARROWEST, min(_WIDEST, self.terminal.console.width - _BESIDE))
            self.bar = Progress(
                TextColumn("training"),
                BarColumn(bar_width=self.bar_width),
                TextColumn("{task.completed}/{task.total}"),
                TextColumn("{task.fields[figures]}"),
                console=self.terminal.console,
            )
            self.bar.add_task("training", total=steps, figures="")
            before = sys.stderr
            self.beside.callback(self.bar.stop)
            self.bar.start()
            self.beside.enter_context(_loggers_follow(before))

    def _show_log(self, figures: Figures) -> None:
        parts = [
            f"loss {figures['loss']:.4f}",
            f"{figures['samples_per_second']:.0f} rows/s",
            *([f"{figures['tokens_per_second']:.0f} tokens/s"] if "tokens_per_second" in figures else []),
            memory(figures["memory"]),
            f"{clock_time(figures['seconds_left'])} left",
        ]
        if self.bar is not None:
            room = self.terminal.console.width - self.bar_width - 2 * len(str(self.total_steps)) - 14
            text = fit([parts[-1], *parts[:-1]], room)
            self.bar.update(self.bar.task_ids[0], completed=figures["step"], figures=text)
        else:
            place = f"step {figures['step']}/{self.total_steps} · epoch {figures['epoch']:.2f}"
            self.terminal.line(" · ".join([place, f"lr {figures['learning_rate']:.2e}", *parts]), whole=True)

    def _show_evaluation(self, figures: Figures) -> None:
        shown = " · ".join(f"{name} {value:.4f}" for name, value in scores(figures, "eval").items())
        mark = " · best so far" if figures.get("best") else ""
        self.terminal.line(f"epoch {round(figures['epoch'], 2):g} · {shown}{mark}")

    def _show_sample(self, figures: Figures) -> None:
        asked, answer = (" ".join(str(figures[name]).split()) for name in ("prompt", "answer"))
        text = f"  {shorter(asked, _LONGEST_PROMPT)} → {shorter(answer, _LONGEST_ANSWER)}"
        self.terminal.line(escape(text))


@contextmanager
def _loggers_follow(before: TextIO) -> Iterator[None]:
    """While standard error is another stream than ``before``, what loggers wrote there goes to the new one.

    Their handlers hold standard error itself, and would write into a live bar.
    """
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    handlers = [handler for each in loggers if isinstance(each, logging.Logger) for handler in each.handlers]
    moved = [each for each in handlers if isinstance(each, logging.StreamHandler) and each.stream is before]
    for handler in moved:
        handler.setStream(sys.stderr)
    try:
        yield
    finally:
        for handler in moved:
            handler.setStream(before)
