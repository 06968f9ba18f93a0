"""Curves of a run, as data that the page's script draws."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeGuard

from pippin.report.page.history import History
from pippin.report.page.metric_names import figure, metric_title
from pippin.report.report import scores
from pippin.tasks.parts import Scatter

Points = list[tuple[float, float]]
#: More points than a screen shows are not worth their bytes.
_MOST_POINTS, _MOST_IN_SCATTER = 400, 2000
_MOST_MARKS, _MOST_CURVES = 40, 24
_MARKED = ("slept", "slow", "smaller_batches", "recomputing", "resumed")


@dataclass(frozen=True)
class Series:
    name: str
    points: Points
    place: int = 0
    """Its colour and dashes, which it keeps where others are left out."""


@dataclass(frozen=True)
class Mark:
    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    id: str
    title: str
    x: str
    """Title of the axis across, with its unit; likewise ``y``."""
    y: str
    series: tuple[Series, ...]
    unit: str = ""
    """Behind a value that is read off."""
    until: float = 0.0
    """The axis across goes up to here at least."""
    marks: tuple[Mark, ...] = ()
    """Where something happened."""
    level: Mark | None = None
    """A height to compare with."""
    log: bool = False
    """Whether a logarithmic scale can be chosen."""
    zero: bool = False
    """Whether the scale begins at zero."""
    legend: bool = False
    """Whether the curves are named below."""
    scatter: bool = False
    """Points in a square around its diagonal, in place of curves."""


@dataclass(frozen=True)
class Clock:
    """Seconds in the unit that fits the longest time of a chart."""

    longest: float

    @property
    def unit(self) -> tuple[str, float]:
        """
        >>> [Clock(longest).unit[0] for longest in (90, 3600, 86400)]
        ['s', 'min', 'h']
        """
        return ("s", 1.0) if self.longest <= 120 else ("min", 60.0) if self.longest <= 7200 else ("h", 3600.0)

    @property
    def axis(self) -> str:
        return f"Time ({self.unit[0]})"

    def at(self, seconds: float) -> float:
        return seconds / self.unit[1]

    def points(self, rows: Iterable[dict[str, Any]], y: str) -> Points:
        return [(self.at(x), value) for x, value in points(rows, "seconds", y)]


def run_charts(history: History, running: bool = False, baselines: Mapping[str, float] | None = None) -> list[Chart]:
    """Every curve that the run has points for, all up to one step; while it runs, with room for what is to come."""
    logs, evaluations = history.logs, history.evaluations
    whole = whole_windows(logs)
    left = history.seconds_left if running else 0.0
    clock = Clock(history.seconds + (left if left and math.isfinite(left) else 0.0))
    steps, end = history.steps if running else history.step, clock.at(clock.longest)
    marked = [each for each in history.happenings if each.name in _MARKED][-_MOST_MARKS:]
    by_step = tuple(Mark(float(each.step), each.words) for each in marked)
    by_time = tuple(Mark(clock.at(each.seconds), each.words) for each in marked)

    def over_steps(id: str, title: str, *series: Series, **more: Any) -> Chart:
        return Chart(id, title, "Step", title, series, until=steps, **more)

    def over_time(id: str, title: str, y: str, values: Points, **more: Any) -> Chart:
        return Chart(id, title, clock.axis, y, (Series(title, values),), until=end, marks=by_time, zero=True, **more)

    # With a frozen core no tokens run through the model.
    what, speed = ("tokens", "tokens_per_second") if _has(logs, "tokens_per_second") else ("rows", "samples_per_second")
    memory = [(x, y / 2**30) for x, y in clock.points(logs, "memory") if y]
    charts = [
        over_steps(
            "loss", "Loss", Series("training", points(whole, "step", "loss")),
            Series("validation", points(evaluations, "step", "eval_loss")), marks=by_step, log=True,
        ),
        *(
            over_steps(f"metric{place}", metric_title(name), Series("validation", values), marks=by_step,
                       level=_level((baselines or {}).get(f"eval_{name}")))
            for place, (name, values) in enumerate(metric_curves(evaluations).items())
        ),
        over_steps("rate", "Learning rate", Series("learning rate", points(logs, "step", "learning_rate")), zero=True),
        over_steps("norm", "Gradient norm", Series("norm", points(whole, "step", "grad_norm")), log=True),
        over_time("speed", "Speed", f"{what.capitalize()} per second", clock.points(whole, speed), unit=f" {what}/s"),
        over_time("memory", "Memory", "Memory (GB)", memory, unit=" GB"),
    ]  # fmt: skip
    return with_points(charts)


def scatter_chart(id: str, part: Scatter) -> Chart:
    """Actual numbers across, predicted ones up."""
    pairs = [pair for pair in zip(part.actual, part.predicted, strict=False) if all(map(math.isfinite, pair))]
    every = -(-len(pairs) // _MOST_IN_SCATTER) or 1
    series = (Series("rows", pairs[::every]),)
    return Chart(id, "Predicted against actual", "Actual", "Predicted", series, scatter=True)


def whole_windows(logs: Sequence[dict[str, float]]) -> Sequence[dict[str, float]]:
    """The log lines without a last one that covers less than half as many steps as those before: it jumps."""
    before, last, end = [0.0, 0.0, 0.0, *(each.get("step", math.nan) for each in logs)][-3:]
    return logs[:-1] if end - last < (last - before) / 2 else logs


def _has(rows: Iterable[dict[str, Any]], name: str) -> bool:
    return any(name in row for row in rows)


def with_points(charts: Iterable[Chart]) -> list[Chart]:
    """The charts without empty curves, and without those that have no other."""

    def kept(chart: Chart) -> Chart:
        placed = (replace(each, place=place) for place, each in enumerate(chart.series))
        return replace(chart, series=tuple(each for each in placed if each.points), legend=len(chart.series) > 1)

    return [chart for chart in map(kept, charts) if chart.series]


def metric_curves(evaluations: list[dict[str, Any]]) -> dict[str, Points]:
    """A curve for each metric but the loss, which is drawn beside that of the training."""
    names = dict.fromkeys(name for each in evaluations for name in scores(each, "eval") if not name.endswith("loss"))
    return {name: points(evaluations, "step", f"eval_{name}") for name in islice(names, _MOST_CURVES)}


def points(rows: Iterable[dict[str, Any]], x: str, y: str) -> Points:
    """The numbers of two columns; NaN and infinity are left out."""
    return [(float(row[x]), float(row[y])) for row in rows if _is_number(row.get(x)) and _is_number(row.get(y))]


def thinned(values: Points, most: int = _MOST_POINTS) -> Points:
    """No more points than can be seen: of each stretch the lowest and the highest, and both ends."""
    if len(values) <= most:
        return values
    stretches = most // 2 - 1
    inner = values[1:-1]
    found = [values[0]]
    for place in range(stretches):
        part = inner[place * len(inner) // stretches : (place + 1) * len(inner) // stretches]
        found += sorted({min(part, key=lambda point: point[1]), max(part, key=lambda point: point[1])})
    return [*found, values[-1]]


def as_json(charts: Iterable[Chart]) -> list[dict[str, Any]]:
    """What the script reads: thinned, with as many digits as can be seen."""
    return [
        {
            **{name: getattr(chart, name) for name in ("id", "x", "unit", "zero", "log", "legend", "scatter", "y")},
            "until": _short(chart.until),
            "marks": [_mark(each) for each in chart.marks],
            "level": _mark(chart.level) if chart.level else None,
            "series": [
                {
                    "name": each.name,
                    "place": each.place,
                    "points": [
                        (_short(x), _short(y)) for x, y in (each.points if chart.scatter else thinned(each.points))
                    ],
                }
                for each in chart.series
            ],
        }
        for chart in charts
    ]


def _level(baseline: float | None) -> Mark | None:
    """What the simplest answer would score on the validation rows."""
    return Mark(baseline, f"baseline {figure(baseline)}") if _is_number(baseline) else None


def _mark(mark: Mark) -> dict[str, Any]:
    return {"at": _short(mark.at), "text": mark.text}


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _short(value: float) -> float:
    return float(f"{value:.5g}")
