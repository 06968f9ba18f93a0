"""A run as it goes on: the bar or lines of the log, evaluations, and what a person should hear of at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn

from pippin.report.terminal import Terminal
from pippin.report.words import clock_time, duration, fit, memory

_BAR_WIDTH = 16

Figures = dict[str, Any]
Sentence = Callable[[Figures], str]


def _relieved(figures: Figures) -> str:
    before, after = memory(figures["before"]), memory(figures["after"])
    return f"the device held {before}, near its limit: what was unused is given back, {after} remain."


def _slept(figures: Figures) -> str:
    lasted = duration(figures["seconds"])
    if figures["sure"]:
        return f"the computer slept for {lasted}"
    return f"one step took {lasted} longer than others: the computer slept?"


#: Events that are told in a sentence, by name.
_WARNINGS: dict[str, Sentence] = {
    "slow": lambda figures: (
        f"running at {figures['share']:.0%} of the speed at the start: the computer is probably too hot or low on "
        "power, or other programs are busy. Plug it in, let air reach it, close what is not needed."
    ),
    "smaller_batches": lambda figures: (
        f"memory ran out at step {figures['step']}: from here on at most {figures['rows']} rows go through the model "
        "at once. The step was done again, and the gradient stays the same."
    ),
    "recomputing": lambda figures: (
        f"memory ran out at step {figures['step']} with a single row: from here on activations are recomputed in the "
        "backward pass, which is slower. The step was done again, and the gradient stays the same."
    ),
    "smaller_evaluation_batches": lambda figures: (
        "memory ran out in an evaluation: its batches are smaller from here on, with the same results."
    ),
    "best_lost": lambda figures: (
        f"the best model, that of step {figures['step']}, cannot be used ({figures['why']}): the last one is kept."
    ),
    "fallback": lambda figures: (
        f"the device has no kernel for {figures['operator']}: it runs on the CPU, with copies both ways."
    ),
}
_NOTES: dict[str, Sentence] = {
    "kept_awake": lambda figures: (
        "the computer stays awake while it trains; a closed lid still puts a laptop to sleep."
    ),
    "relieved": _relieved,
    "compiling": lambda figures: (
        f"compiling the model: it takes about {duration(figures['costs'])} and should save "
        f"{duration(figures['saves'])} of the rest of the run."
    ),
    "compiled": lambda figures: (
        f"compiled steps take {1 / figures['faster']:.0%} of the time"
        + (": the run goes on with them." if figures["faster"] > 1 else ": the run goes back to the others.")
    ),
    "slept": _slept,
}


class TrainingProgress:
    """Listens to a run's events."""

    def __init__(self, terminal: Terminal):
        self.terminal = terminal
        self.bar: Progress | None = None
        self.total_steps = 0

    def on_event(self, name: str, figures: Figures) -> None:
        """Show an event; warnings are shown even when little is to be said."""
        if name in _WARNINGS:
            self.terminal.warn(_WARNINGS[name](figures))
        elif name in _NOTES:
            self.terminal.note(_NOTES[name](figures))
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

    def stop(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def _start(self, steps: int) -> None:
        self.total_steps = steps
        if self.terminal.live:
            self.bar = Progress(
                TextColumn("training"),
                BarColumn(bar_width=_BAR_WIDTH),
                TextColumn("{task.completed}/{task.total}"),
                TextColumn("{task.fields[figures]}"),
                console=self.terminal.console,
            )
            self.bar.add_task("training", total=steps, figures="")
            self.bar.start()

    def _show_log(self, figures: Figures) -> None:
        parts = [
            f"loss {figures['loss']:.4f}",
            f"{figures['samples_per_second']:.0f} samples/s",
            f"{figures['tokens_per_second']:.0f} tokens/s",
            memory(figures["memory"]),
            f"{clock_time(figures['seconds_left'])} left",
        ]
        if self.bar is not None:
            room = self.terminal.console.width - _BAR_WIDTH - 2 * len(str(self.total_steps)) - 14
            text = fit([parts[-1], *parts[:-1]], room)
            self.bar.update(self.bar.task_ids[0], completed=figures["step"], figures=text)
        else:
            place = f"step {figures['step']}/{self.total_steps} · epoch {figures['epoch']:.2f}"
            self.terminal.line(" · ".join([place, f"lr {figures['learning_rate']:.2e}", *parts]))

    def _show_evaluation(self, figures: Figures) -> None:
        shown = " · ".join(
            f"{key.removeprefix('eval_')} {value:.4f}"
            for key, value in figures.items()
            if key.startswith("eval_") and not key.endswith(("runtime", "per_second", "samples"))
        )
        mark = " · best so far" if figures.get("best") else ""
        self.terminal.console.print(f"epoch {figures['epoch']:g} · {shown}{mark}")
