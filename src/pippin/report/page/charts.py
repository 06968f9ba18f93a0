"""Curves of a run, as data that the page's script draws."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from pippin.report.page.history import History
from pippin.report.report import scores

Points = list[tuple[float, float]]
#: More points than a screen shows are not worth their bytes.
_MOST_POINTS = 400
_MOST_MARKS, _MOST_CURVES = 40, 24
_MARKED = ("slept", "slow", "smaller_batches", "recomputing", "resumed")


@dataclass(frozen=True)
class Series:
    name: str
    points: Points


@dataclass(frozen=True)
class Mark:
    x: float
    text: str


@dataclass(frozen=True)
class Chart:
    id: str
    title: str
    x: str
    """What is across."""
    series: tuple[Series, ...]
    unit: str = ""
    marks: tuple[Mark, ...] = ()
    log: bool = False
    """Whether a logarithmic scale can be chosen."""
    zero: bool = False
    """Whether the scale begins at zero."""


def run_charts(history: History) -> list[Chart]:
    """Every curve that the run has points for."""
    logs, evaluations = history.logs, history.evaluations
    marked = [each for each in history.happenings if each.name in _MARKED][-_MOST_MARKS:]
    by_step = tuple(Mark(float(each.step), each.words) for each in marked)
    by_minute = tuple(Mark(each.minute, each.words) for each in marked)
    training = Series("training", points(logs, "step", "loss"))
    validation = Series("validation", points(evaluations, "step", "eval_loss"))
    rate = Series("learning rate", points(logs, "step", "learning_rate"))
    norm = Series("norm", points(logs, "step", "grad_norm"))
    tokens = Series("tokens", points(logs, "minute", "tokens_per_second"))
    memory = Series("memory", [(x, y / 2**30) for x, y in points(logs, "minute", "memory") if y])
    charts = [
        Chart("loss", "Loss", "step", (training, validation), marks=by_step, log=True),
        Chart("metrics", "Validation", "step", metric_series(evaluations), marks=by_step),
        Chart("rate", "Learning rate", "step", (rate,), zero=True),
        Chart("norm", "Gradient norm", "step", (norm,), log=True),
        Chart("speed", "Speed", "minute", (tokens,), unit="/s", marks=by_minute, zero=True),
        Chart("memory", "Memory held", "minute", (memory,), unit=" GB", marks=by_minute, zero=True),
    ]
    return with_points(charts)


def with_points(charts: Iterable[Chart]) -> list[Chart]:
    """The charts without empty curves, and without those that have no other."""
    kept = (replace(chart, series=tuple(each for each in chart.series if each.points)) for chart in charts)
    return [chart for chart in kept if chart.series]


def metric_series(evaluations: list[dict[str, Any]]) -> tuple[Series, ...]:
    """A curve for each metric but the loss, which has another scale."""
    names = dict.fromkeys(name for each in evaluations for name in scores(each, "eval") if not name.endswith("loss"))
    curves = (Series(name, points(evaluations, "step", f"eval_{name}")) for name in names)
    return tuple(islice(curves, _MOST_CURVES))


def points(rows: Iterable[dict[str, Any]], x: str, y: str) -> Points:
    """The numbers of two columns; what is no number is left out."""
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
            "id": chart.id,
            "x": chart.x,
            "unit": chart.unit,
            "zero": chart.zero,
            "marks": [{"x": _short(mark.x), "text": mark.text} for mark in chart.marks],
            "series": [
                {"name": each.name, "points": [(_short(x), _short(y)) for x, y in thinned(each.points)]}
                for each in chart.series
            ],
        }
        for chart in charts
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def _short(value: float) -> float:
    return float(f"{value:.5g}")
