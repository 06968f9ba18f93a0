"""What the charts of a benchmark show, as plain numbers: panels of grouped bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pippin.commands.bench.results import HEAD_ONLY, INFERENCE, PIPPIN, TRAINING, Bench, Point
from pippin.commands.bench.views.series import BarSeries, batches_of, ratio, series_of

_WORDS = {TRAINING: "Training", HEAD_ONLY: "Training of the head alone", INFERENCE: "Inference"}


@dataclass(frozen=True)
class Bar:
    """A value with its spread; without a value, the word that stands in its place."""

    value: float | None
    low: float | None = None
    high: float | None = None
    word: str = ""


@dataclass(frozen=True)
class Panel:
    """Groups of bars; a contender has one bar in each group, or none."""

    title: str
    unit: str
    across: str
    """What the groups are: batch sizes, lengths, precisions."""
    groups: tuple[str, ...]
    bars: tuple[tuple[BarSeries, tuple[Bar | None, ...]], ...]
    baseline: bool = False
    """Whether 1 is what all is compared with."""


def speed_up_panels(benches: Sequence[Bench]) -> tuple[str, list[Panel]]:
    """How many times as fast as the baseline, and its name: a CPU, or the Trainer where there is one device only."""
    series = series_of(benches)
    baseline = _baseline(series)
    if baseline is None:
        return "", []

    def bar(each: BarSeries, test: str, batch: int) -> Bar | None:
        point, base = each.point(test, batch), baseline.point(test, batch)
        if point is None or base is None:
            return None
        times = ratio(point, base)
        return Bar(times) if times is not None else _without_value(point)

    panels = [_by_batch(series, test, "times as fast", bar) for test in (INFERENCE, TRAINING, HEAD_ONLY)]
    compared = [panel for panel in panels if len(panel.bars) > 1]
    return baseline.label, [replace(panel, baseline=True) for panel in compared]


def throughput_panels(benches: Sequence[Bench]) -> list[Panel]:
    """Samples a second by batch size, by length and by precision."""
    series = series_of(benches)

    def bar(each: BarSeries, test: str, batch: int) -> Bar | None:
        return _speed(each.point(test, batch))

    panels = [_by_batch(series, INFERENCE, "samples/s", bar)]
    panels += [_by_look(series, benches[0], "length"), _by_look(series, benches[0], "precision")]
    panels += [_by_batch(series, test, "samples/s", bar) for test in (TRAINING, HEAD_ONLY)]
    return [panel for panel in panels if panel.bars and len(panel.groups) > (panel.across in ("tokens", "precision"))]


def memory_panels(benches: Sequence[Bench]) -> list[Panel]:
    """Most memory that the work took, by batch size."""
    series = series_of(benches)
    most = max((point.memory or 0 for bench in benches for point in bench.points), default=0)
    unit, size = ("GB", 2**30) if most >= 2**30 else ("MB", 2**20)

    def bar(each: BarSeries, test: str, batch: int) -> Bar | None:
        point = each.point(test, batch)
        return Bar(point.memory / size) if point and point.memory else _without_value(point)

    panels = [_by_batch(series, test, f"{unit} at most", bar) for test in (INFERENCE, TRAINING, HEAD_ONLY)]
    return [panel for panel in panels if any(each and each.value for _, bars in panel.bars for each in bars)]


def _baseline(series: list[BarSeries]) -> BarSeries | None:
    """The first CPU where several devices are compared; the Trainer where it is the only other."""
    if len(series) < 2:
        return None
    own = [each for each in series if each.library == PIPPIN]
    if len(own) == 1:
        return next(each for each in series if each.library != PIPPIN)
    return next((each for each in own if each.device == "cpu"), None)


def _by_batch(series: list[BarSeries], test: str, unit: str, bar: Callable[[BarSeries, str, int], Bar | None]) -> Panel:
    batches = batches_of(series, test)
    found = [(each, tuple(bar(each, test, batch) for batch in batches)) for each in series]
    having = tuple((each, bars) for each, bars in found if any(bars))
    # Batches that nobody has in this look are left out.
    kept = [place for place in range(len(batches)) if any(bars[place] for _, bars in having)]
    return Panel(
        _title(series, test),
        unit,
        "batch size",
        tuple(str(batches[place]) for place in kept),
        tuple((each, tuple(bars[place] for place in kept)) for each, bars in having),
    )


def _title(series: list[BarSeries], test: str) -> str:
    """What was measured; how much of it only where all did the same."""
    bench, rows = series[0].bench, {each.bench.training_rows for each in series}
    if test == INFERENCE:
        return f"{_WORDS[test]}, {bench.length} tokens a row, fp32"
    if len(rows) > 1:
        return _WORDS[test]
    if test == TRAINING:
        return f"{_WORDS[test]} on {bench.training_rows} rows"
    return f"{_WORDS[test]}, {bench.head_only_epochs} times {bench.training_rows} rows"


def _by_look(series: list[BarSeries], bench: Bench, what: str) -> Panel:
    """By length or by precision, at the largest batch for which the most of them were measured."""
    usual: dict[str, object] = {"precision": "fp32"} if what == "length" else {"length": bench.length}
    looks: dict[int, set[Any]] = {}
    for point in (point for point in bench.of(INFERENCE, **usual) if point.seconds):
        looks.setdefault(point.setting.batch, set()).add(getattr(point.setting, what))
    if not looks:
        return Panel("", "samples/s", what, (), ())
    batch = max(looks, key=lambda batch: (len(looks[batch]), batch))
    names = sorted(looks[batch]) if what == "length" else [p for p in ("fp32", "bf16", "fp16") if p in looks[batch]]
    found = [(each, tuple(_speed(each.point(INFERENCE, batch, **{what: name})) for name in names)) for each in series]
    rest = "fp32" if what == "length" else f"{bench.length} tokens a row"
    return Panel(
        f"Inference by {what}, batch {batch}, {rest}",
        "samples/s",
        "tokens" if what == "length" else what,
        tuple(str(name) for name in names),
        tuple((each, bars) for each, bars in found if any(bars)),
    )


def _speed(point: Point | None) -> Bar | None:
    speeds = point.speeds() if point else None
    return Bar(speeds[1], speeds[0], speeds[2]) if speeds else _without_value(point)


def _without_value(point: Point | None) -> Bar | None:
    return Bar(None, word=point.trouble) if point and point.trouble and not point.seconds else None
