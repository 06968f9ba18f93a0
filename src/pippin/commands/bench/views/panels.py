"""What the charts of a benchmark show, as plain numbers: panels of grouped bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pippin.commands.bench.results import HEAD_ONLY, INFERENCE, PIPPIN, TRAINING, Bench, Point
from pippin.commands.bench.views.series import BarSeries, batches_of, series_of

_TESTS = (INFERENCE, TRAINING, HEAD_ONLY)


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
    baseline: str = ""
    """What all is compared with: its bars are 1."""

    @property
    def highest(self) -> float:
        """The end of the highest bar or of its spread; 0 where there is none."""
        return max((max(bar.value or 0, bar.high or 0) for _, bars in self.bars for bar in bars if bar), default=0.0)


@dataclass(frozen=True)
class BarChart:
    name: str
    """Of its files."""
    model: str
    what: str
    """What it shows, without the model's name."""
    panels: tuple[Panel, ...]

    @property
    def title(self) -> str:
        return f"{self.model}: {self.what}"


def charts_of(benches: Sequence[Bench]) -> list[BarChart]:
    """All charts that there is something for."""
    model = " / ".join(dict.fromkeys(bench.model for bench in benches))
    baseline = _baseline(series_of(benches))
    compared = f"speed compared with {baseline.label if baseline else ''}"
    charts = [
        BarChart("speed_up", model, compared, _speed_ups(benches)),
        BarChart("throughput", model, "samples per second", _throughput(benches)),
        BarChart("memory", model, "peak memory", _memory(benches)),
    ]
    return [chart for chart in charts if chart.panels]


def work_words(benches: Sequence[Bench], test: str) -> str:
    """What was measured; how much of it only where all did the same."""
    bench, amounts = benches[0], {bench.training_rows for bench in benches}
    if test == INFERENCE:
        return f"Inference, {bench.length} tokens per row, fp32"
    rows = f"{bench.training_rows:,} rows" if len(amounts) == 1 else ""
    if test == TRAINING:
        return f"Training on {rows}" if rows else "Training"
    epochs = bench.head_only_epochs
    often = f", {epochs} epoch{'s' * (epochs != 1)} of {rows}" if rows else ""
    return f"Training the head only{often}"


def _speed_ups(benches: Sequence[Bench]) -> tuple[Panel, ...]:
    """How many times as fast as the baseline."""
    series = series_of(benches)
    baseline = _baseline(series)

    def bar(test: str, each: BarSeries, batch: int) -> Bar | None:
        point, base = each.point(test, batch), baseline.point(test, batch) if baseline else None
        if point and base and point.samples_per_second and base.samples_per_second:
            return Bar(point.samples_per_second / base.samples_per_second)
        return _without_value(point) if base else None

    name = baseline.label if baseline else ""
    panels = _by_batch(benches, "times as fast", bar, name)
    return tuple(panel for panel in panels if len(panel.bars) > 1)


def _throughput(benches: Sequence[Bench]) -> tuple[Panel, ...]:
    """Samples per second by batch size, by length and by precision."""
    inference, *training = _by_batch(benches, "samples/s", lambda test, each, batch: _speed(each.point(test, batch)))
    looks = [_by_look(benches, "length"), _by_look(benches, "precision")]
    chosen = [inference, *(panel for panel in looks if len(panel.groups) > 1), *training]
    return tuple(panel for panel in chosen if panel.bars)


def _memory(benches: Sequence[Bench]) -> tuple[Panel, ...]:
    """Most memory that the work took, by batch size."""
    most = max((point.memory or 0 for bench in benches for point in bench.points), default=0)
    unit, size = ("GB", 2**30) if most >= 10 * 2**30 else ("MB", 2**20)

    def bar(test: str, each: BarSeries, batch: int) -> Bar | None:
        point = each.point(test, batch)
        return Bar(point.memory / size) if point and point.memory else _without_value(point)

    return tuple(panel for panel in _by_batch(benches, f"peak memory ({unit})", bar) if panel.highest)


def _baseline(series: list[BarSeries]) -> BarSeries | None:
    """The first CPU where several devices are compared; the Trainer where it is the only other."""
    own = [each for each in series if each.library == PIPPIN]
    if len(own) == 1:
        return next((each for each in series if each.library != PIPPIN), None)
    return next((each for each in own if each.device == "cpu"), None)


def _by_batch(
    benches: Sequence[Bench], unit: str, bar: Callable[[str, BarSeries, int], Bar | None], baseline: str = ""
) -> list[Panel]:
    """A panel for each test."""
    series = series_of(benches)
    return [
        _panel(
            work_words(benches, test), unit, "batch size", series, batches_of(series, test),
            partial(bar, test), baseline,
        )
        for test in _TESTS
    ]  # fmt: skip


def _by_look(benches: Sequence[Bench], what: str) -> Panel:
    """By length or by precision, at the largest batch for which the most of them were measured."""
    bench = benches[0]
    usual: dict[str, object] = {"precision": "fp32"} if what == "length" else {"length": bench.length}
    looks: dict[int, set[Any]] = {}
    for point in (point for point in bench.of(INFERENCE, **usual) if point.seconds):
        looks.setdefault(point.setting.batch, set()).add(getattr(point.setting, what))
    batch = max(looks, key=lambda batch: (len(looks[batch]), batch), default=0)
    names = sorted(looks.get(batch, ()), key=lambda name: (name != "fp32", name))  # numbers by size, fp32 first
    rest = "fp32" if what == "length" else f"{bench.length} tokens per row"
    return _panel(
        f"Inference by {what}, batch size {batch}, {rest}",
        "samples/s",
        "tokens per row" if what == "length" else what,
        series_of(benches),
        names,
        lambda each, name: _speed(each.point(INFERENCE, batch, **{what: name})),
    )


def _panel(
    title: str,
    unit: str,
    across: str,
    series: list[BarSeries],
    groups: Sequence[Any],
    bar: Callable[[BarSeries, Any], Bar | None],
    baseline: str = "",
) -> Panel:
    """Without contenders and groups that have no bars."""
    found = [(each, tuple(bar(each, group) for group in groups)) for each in series]
    having = [(each, bars) for each, bars in found if any(bars)]
    kept = [place for place in range(len(groups)) if any(bars[place] for _, bars in having)]
    bars = tuple((each, tuple(bars[place] for place in kept)) for each, bars in having)
    return Panel(title, unit, across, tuple(str(groups[place]) for place in kept), bars, baseline)


def _speed(point: Point | None) -> Bar | None:
    speeds = point.speeds() if point else None
    return Bar(speeds[1], speeds[0], speeds[2]) if speeds else _without_value(point)


def _without_value(point: Point | None) -> Bar | None:
    return Bar(None, word=point.trouble) if point and point.trouble and not point.seconds else None
