"""A benchmark as plain tables, for the terminal, bench.md and the page."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pippin.commands.bench.results import HEAD_ONLY, INFERENCE, PIPPIN, TRAINING, Bench, Point
from pippin.commands.bench.views.panels import work_words
from pippin.commands.bench.views.series import BarSeries, batches_of, device_label, library_label, series_of, time_words
from pippin.commands.charts import figure_words
from pippin.text import memory

#: Spread of the repeats from which on it is said.
_WORTH_SAYING = 0.05


@dataclass(frozen=True)
class Sheet:
    """A table of words; the first column names the row."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def numbers(self) -> set[int]:
        """Columns that stand to the right."""
        columns = enumerate(zip(*self.rows, strict=True))
        return {place for place, cells in columns if all(cell[:1].isdigit() for cell in cells if cell)}


def sheets(bench: Bench) -> list[Sheet]:
    """All tables of one benchmark."""
    found = [_inference(bench, device) for device in bench.devices]
    found += [_training(bench, test) for test in (TRAINING, HEAD_ONLY)]
    return [sheet for sheet in [*found, _largest(bench)] if sheet.rows]


def compared_sheets(benches: Sequence[Bench]) -> list[Sheet]:
    """Machines side by side, by batch size."""
    found = []
    for test in (INFERENCE, TRAINING, HEAD_ONLY):
        having = [each for each in series_of(benches) if batches_of([each], test)]
        rows = tuple(
            (str(batch), *(_speed_words(each.point(test, batch)) for each in having))
            for batch in batches_of(having, test)
        )
        title = f"{work_words(benches, test)}: samples/s"
        found.append(Sheet(title, ("batch size", *(each.label for each in having)), rows))
    return [sheet for sheet in found if sheet.rows]


def _inference(bench: Bench, device: str) -> Sheet:
    points = bench.of(INFERENCE, device=device)
    looks = list(dict.fromkeys((point.setting.precision, point.setting.length) for point in points))
    series = BarSeries("", bench, device, PIPPIN)
    rows = []
    for batch in batches_of([series], INFERENCE):
        usual = series.point(INFERENCE, batch)
        time = f"{1000 * statistics.median(usual.seconds):,.1f} ms" if usual and usual.seconds else ""
        held = memory(usual.memory) if usual and usual.memory is not None else ""
        speeds = (
            _speed_words(series.point(INFERENCE, batch, precision=precision, length=length))
            for precision, length in looks
        )
        rows.append((str(batch), time, held, *speeds))
    heads = ("batch size", "time", "memory", *(f"{length} tokens, {precision}" for precision, length in looks))
    where = f"time and peak memory at {bench.length} tokens, fp32"
    return Sheet(f"Inference on {device_label(bench, device)}: samples/s ({where})", heads, tuple(rows))


def _training(bench: Bench, test: str) -> Sheet:
    """Columns that are empty all the way down are left out."""
    points = sorted(bench.of(test), key=lambda point: point.setting.batch)
    several = len({point.setting.library for point in points}) > 1
    columns = {
        "batch size": [str(point.setting.batch) for point in points],
        "device": [p.setting.device + ", emulated" * (p.setting.device in bench.emulated) for p in points],
        "trained by": [library_label(bench, point.setting.library) if several else "" for point in points],
        "precision": [point.setting.precision for point in points],
        "time": [time_words(point.whole_seconds) if point.whole_seconds else "" for point in points],
        "samples/s": list(map(_speed_words, points)),
        "peak memory": [memory(point.memory) if point.memory else "" for point in points],
        "power": [f"{point.watts:.0f} W" if point.watts else "" for point in points],
        bench.metric: [f"{point.score:.3f}" if point.score is not None else "" for point in points],
    }
    filled = {head: cells for head, cells in columns.items() if any(cells)}
    return Sheet(work_words([bench], test), tuple(filled), tuple(zip(*filled.values(), strict=True)))


def _largest(bench: Bench) -> Sheet:
    words = {TRAINING: "the whole model", HEAD_ONLY: "the head only"}
    rows = tuple(
        (words[each.test], each.device, f"{each.batch:,}" if each.batch else "–", each.why) for each in bench.largest
    )
    heads = ("training", "device", "batch size", "how it was found")
    return Sheet(f"Largest batch that fits ({bench.length} tokens per row)", heads, rows)


def _speed_words(point: Point | None) -> str:
    if point is None or not (speeds := point.speeds()):
        return point.trouble if point else ""
    slow, middle, fast = map(figure_words, speeds)
    return middle if point.spread < _WORTH_SAYING else f"{middle} ({slow}–{fast})"
