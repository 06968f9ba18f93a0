"""A benchmark as plain tables, for the terminal and for bench.md."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pippin.commands.bench.results import HEAD_ONLY, INFERENCE, TRAINING, Bench, Point
from pippin.commands.bench.views.series import BarSeries, batches_of, device_label, series_of
from pippin.text import memory

#: Spread of the repeats from which on it is said.
_WORTH_SAYING = 0.05


@dataclass(frozen=True)
class Sheet:
    """A table of words; the first column names the row."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sheets(bench: Bench) -> list[Sheet]:
    """All tables of one benchmark."""
    found = [_inference(bench, device) for device in bench.devices]
    found += [_training(bench, test) for test in (TRAINING, HEAD_ONLY)]
    return [sheet for sheet in [*found, _largest(bench)] if sheet.rows]


def compared_sheets(benches: Sequence[Bench]) -> list[Sheet]:
    """Machines side by side: samples a second by batch size."""
    series = series_of(benches)
    length = benches[0].length
    titles = {
        INFERENCE: f"inference, {length} tokens, fp32: samples/s",
        TRAINING: "training: samples/s",
        HEAD_ONLY: "training of the head alone: samples/s",
    }
    found = []
    for test, title in titles.items():
        having = [each for each in series if each.batches(test)]
        rows = tuple(
            (f"batch {batch}", *(_speed_words(each.point(test, batch)) for each in having))
            for batch in batches_of(having, test)
        )
        found.append(Sheet(title, ("", *(each.label for each in having)), rows))
    return [sheet for sheet in found if sheet.rows]


def _inference(bench: Bench, device: str) -> Sheet:
    points = bench.of(INFERENCE, device=device)
    looks = list(dict.fromkeys((point.setting.precision, point.setting.length) for point in points))
    by = {(p.setting.precision, p.setting.length, p.setting.batch): p for p in points}
    batches = sorted({point.setting.batch for point in points})
    series = BarSeries("", bench, device, "pippin")
    rows = []
    for batch in batches:
        usual = series.point(INFERENCE, batch)
        first = "" if usual is None or not usual.seconds else f"{1000 * statistics.median(usual.seconds):.1f} ms"
        held = "" if usual is None or usual.memory is None else memory(usual.memory)
        speeds = [_speed_words(by.get((*look, batch))) for look in looks]
        rows.append((f"batch {batch}", first, held, *speeds))
    heads = ("", "time", "memory", *(f"{length} tokens, {precision}" for precision, length in looks))
    title = f"inference on {device_label(bench, device)}: samples/s (time and memory: {bench.length} tokens, fp32)"
    return Sheet(title, heads, tuple(rows))


def _training(bench: Bench, test: str) -> Sheet:
    points = sorted(bench.of(test), key=lambda point: point.setting.batch)
    powered = any(point.watts for point in points)
    several = len({point.setting.library for point in points}) > 1
    rows = []
    for point in points:
        setting = point.setting
        whole = f"{statistics.median(point.whole_seconds):.1f} s" if point.whole_seconds else ""
        device = setting.device + (", emulated" if setting.device in bench.emulated else "")
        row = [f"batch {setting.batch}", device, *([setting.library] if several else []), setting.precision, whole]
        row += [_speed_words(point), memory(point.memory) if point.memory else ""]
        row += [f"{point.watts:.0f} W" if point.watts else ""] if powered else []
        row += [f"{point.score:.3f}" if point.score is not None else ""]
        rows.append(tuple(row))
    heads = ("", "device", *(["by"] if several else []), "precision", "time", "samples/s", "memory")
    heads += (*(["power"] if powered else []), bench.metric)
    what = f"training on {bench.training_rows} rows"
    if test == HEAD_ONLY:
        what = f"training of the head alone: {bench.head_only_epochs} times {bench.training_rows} rows"
    return Sheet(what, heads, tuple(rows))


def _largest(bench: Bench) -> Sheet:
    words = {TRAINING: "training", HEAD_ONLY: "head alone"}
    rows = tuple(
        (words[each.test], each.device, str(each.batch) if each.batch else "?", each.why) for each in bench.largest
    )
    return Sheet(f"largest batch that fits ({bench.length} tokens a row)", ("", "device", "rows", ""), rows)


def _speed_words(point: Point | None) -> str:
    if point is None or not (speeds := point.speeds()):
        return point.trouble if point else ""
    slow, middle, fast = (f"{speed:.{0 if speeds[1] >= 100 else 1}f}" for speed in speeds)
    return middle if point.spread < _WORTH_SAYING else f"{middle} ({slow}–{fast})"
