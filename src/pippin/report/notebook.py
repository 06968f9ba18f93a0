"""A run in a notebook: one output that is updated in place, instead of lines. IPython is asked only where it runs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.recipe.signature import in_python
from pippin.redact import without_secrets
from pippin.report.happenings import NOTES, WARNINGS, Figures
from pippin.report.page.charts import Points, thinned
from pippin.report.page.markup import Html, html, joined
from pippin.report.plan_words import plan_rows
from pippin.report.report import Report, scores
from pippin.report.summary import in_a_line
from pippin.report.terminal import Terminal
from pippin.text import clock_time, memory

#: Seconds between two updates at least: a front end that draws more often only falls behind.
_SECONDS = 0.25
#: The chart's size, and the points of a curve that can be told apart in it.
_WIDTH, _HEIGHT, _MOST_POINTS = 480, 96, 200
#: After these the output is as it stays, or may stay for long.
_AT_ONCE = {"started", "evaluation", "trained", "finished", "interrupted", "failed"}


def terminal_for(recipe: Recipe, quiet: bool = False) -> Terminal:
    """Where Python's user sees the run: in the notebook's output, or as on the command line."""
    if quiet:
        return PythonTerminal(quiet=True)
    terminal = PythonTerminal.for_recipe(recipe)
    return NotebookTerminal() if not terminal.quiet and in_notebook() else terminal


def in_notebook() -> bool:
    """Whether a front end that shows HTML is at the other end: Jupyter, VS Code, Colab; not IPython in a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None


class PythonTerminal(Terminal):
    """A terminal whose words are Python's: keywords, not flags."""

    def say(self, text: str) -> None:
        super().say(in_python(text))

    def note(self, text: str) -> None:
        super().note(in_python(text))

    def warn(self, text: str) -> None:
        super().warn(in_python(text))

    def show_plan(self, plan: Plan, headline: str, trains: bool = True) -> None:
        reasons = {name: replace(each, reason=in_python(each.reason)) for name, each in plan.choices().items()}
        super().show_plan(plan.changed(**reasons), headline, trains)


@dataclass
class RunView:
    """A run as far as it got: what the output shows."""

    title: str = ""
    state: str = "reading the rows"
    step: int = 0
    steps: int = 0
    figures: str = ""
    evaluation: str = ""
    losses: Points = field(default_factory=list)
    validation_losses: Points = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    """Notes and the plan, for those who open them."""

    def __repr__(self) -> str:
        place = f"step {self.step}/{self.steps}" if self.steps else ""
        return " · ".join(filter(None, [self.title, self.state, place, self.figures, self.evaluation]))

    def _repr_html_(self) -> str:
        bar = html('<progress max="{}" value="{}"></progress> {}/{} ', self.steps, self.step, self.steps and self.step,
                   self.steps) if self.steps else ""  # fmt: skip
        return html(
            "<div><b>{}</b><div>{}{}</div><div>{}</div>{}{}{}</div>",
            self.title,
            bar,
            " · ".join(filter(None, [self.state, self.figures])),
            self.evaluation,
            _chart(self.losses, self.validation_losses),
            joined(html("<div>⚠️ {}</div>", text) for text in self.warnings),
            html("<details><summary>Details</summary>{}</details>", joined(html("<div>{}</div>", text)
                 for text in self.details)) if self.details else "",
        )  # fmt: skip


class NotebookTerminal(Terminal):
    """Shows all that a terminal does in one output of the cell."""

    def __init__(self, show: Callable[[RunView], Callable[[RunView], None]] | None = None,
                 clock: Callable[[], float] = time.monotonic):  # fmt: skip
        super().__init__(live=False)
        self.view, self.clock, self.next_time = RunView(), clock, 0.0
        self._show = show or _display
        self._update: Callable[[RunView], None] | None = None

    def say(self, text: str) -> None:
        self._add(self.view.details, text)

    def note(self, text: str) -> None:
        self._add(self.view.details, text)

    def warn(self, text: str) -> None:
        self._add(self.view.warnings, text)

    def say_where(self, markup: str) -> None:
        """Where the results are; the Report that the cell gives says it too."""
        self._refresh(state=markup.replace("[bold]", "").replace("[/bold]", ""))

    def show_plan(self, plan: Plan, headline: str, trains: bool = True) -> None:
        self.view.details += (
            in_python(f"{name}: {value} ({reason})") for name, value, reason in plan_rows(plan, trains)
        )
        self._refresh(title=headline, state="loading the model")

    def show_report(self, report: Report) -> None:
        self._refresh(state="done", figures=in_a_line(report), evaluation=f"saved in {report.folder}")

    @contextmanager
    def rows_bar(self, total: int | None, what: str) -> Iterator[Callable[[int], None]]:
        self._refresh(state=what)
        yield lambda count: None

    def on_event(self, name: str, figures: Figures) -> bool:
        """An event of the run, shown here rather than as a line."""
        view = self.view
        if name in WARNINGS:
            self.warn(WARNINGS[name](figures))
        elif name in NOTES:
            self.note(NOTES[name](figures))
        elif name == "started":
            view.steps, view.state = figures["steps"], "training"
        elif name == "resumed":
            view.step = figures["step"]
        elif name == "log":
            view.step = figures["step"]
            view.losses.append((figures["step"], figures["loss"]))
            view.figures = f"loss {figures['loss']:.4f} · {memory(figures['memory'])} · " \
                           f"{clock_time(figures['seconds_left'])} left"  # fmt: skip
        elif name == "evaluation":
            shown = " · ".join(f"{metric} {value:.4f}" for metric, value in scores(figures, "eval").items())
            best = " · best so far" * bool(figures.get("best"))
            view.evaluation = f"epoch {round(figures['epoch'], 2):g} · {shown}{best}"
            if "eval_loss" in figures and "step" in figures:
                view.validation_losses.append((figures["step"], figures["eval_loss"]))
        elif name == "trained":
            view.step, view.figures, view.state = view.steps, "", "evaluating"
        elif name in ("interrupted", "failed"):
            view.state, view.figures = name, ""
        if name in _AT_ONCE or self.clock() >= self.next_time:
            self._refresh()
        return True

    def _add(self, texts: list[str], text: str) -> None:
        words = in_python(without_secrets(text))
        if words not in texts:
            texts.append(words)
            self._refresh()

    def _refresh(self, **changes: str) -> None:
        for name, value in changes.items():
            setattr(self.view, name, value)
        self.next_time = self.clock() + _SECONDS
        if self._update is None:
            self._update = self._show(self.view)
        else:
            self._update(self.view)


def _display(view: RunView) -> Callable[[RunView], None]:
    """The cell's output, and what puts another in its place."""
    from IPython.display import display

    update: Callable[[RunView], None] = display(view, display_id=True).update
    return update


def _chart(*curves: Points) -> Html:
    """Training and validation loss over the steps, once there is a curve to see."""
    points = [point for curve in curves for point in curve]
    if len(points) < 3:
        return Html("")
    (left, right), (low, high) = ((min(axis), max(axis)) for axis in zip(*points, strict=True))
    across, up = (_WIDTH - 4) / max(right - left, 1e-9), (_HEIGHT - 4) / max(high - low, 1e-9)
    lines = [
        html(
            '<polyline fill="none" stroke="{}" stroke-width="1.5" points="{}"/>',
            colour,
            " ".join(
                f"{2 + (x - left) * across:.1f},{2 + (high - y) * up:.1f}" for x, y in thinned(curve, _MOST_POINTS)
            ),
        )
        for curve, colour in zip(curves, ("#2a78d6", "#e07b00"), strict=True)
    ]
    words = html('<small><span style="color:#2a78d6">training</span> and <span style="color:#e07b00">validation</span> '
                 "loss, {:.3g} to {:.3g}</small>", low, high)  # fmt: skip
    return html('<svg viewBox="0 0 {} {}" width="{}" height="{}">{}</svg><div>{}</div>', _WIDTH, _HEIGHT, _WIDTH,
                _HEIGHT, joined(lines), words)  # fmt: skip
