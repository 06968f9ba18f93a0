"""A benchmark as a web page in the dress of a run's: the answer, the bars and the tables."""

from __future__ import annotations

import math

from pippin.commands.bench.results import PIPPIN
from pippin.commands.bench.views.document import Document
from pippin.commands.bench.views.panels import Bar, BarChart, Panel
from pippin.commands.bench.views.series import BarSeries, device_places
from pippin.commands.charts import figure_words
from pippin.report.page.frame import page
from pippin.report.page.markup import Html, capital, html, joined, with_flags
from pippin.report.page.sections import section
from pippin.report.page.tables import Look, table

#: The page's colours, blue and orange first: colour-blind people tell them apart.
_COLOURS = ("third", "second", "fifth", "fourth", "sixth", "first")
#: Pixels; what lies across is in percent, so that bars grow with the page and words do not.
_BAR, _GAP, _BELOW = 15, 10, 34
_LEFT, _WIDE, _TICKS = 13.0, 70.0, 4


def bench_page(document: Document) -> Html:
    """All of it on one page."""
    colours = _colours(document.charts)
    machines = joined(html("<p class=soft>{}</p>", words) for words in document.machines)
    remarks = joined(html("<li>{}</li>", with_flags(words)) for words in (*document.warnings, *document.notes))
    parts = [
        html("<header><h1>{}</h1>{}</header>", document.title, machines),
        html('<p class="answer">{}</p>', document.answer),
        *(_chart(chart, colours) for chart in document.charts),
        *(
            section(sheet.title, table(sheet.heads, sheet.rows, Look(frozenset(sheet.numbers))))
            for sheet in document.sheets
        ),
        section("What to know", html("<ul>{}</ul>", remarks)) if remarks else html(""),
    ]
    return page(document.title, parts)


def _chart(chart: BarChart, colours: dict[str, str]) -> Html:
    panels = joined(_panel(panel, colours) for panel in chart.panels)
    return section(capital(chart.what), html('<div class="curves">{}</div>', panels))


def _colours(charts: tuple[BarChart, ...]) -> dict[str, str]:
    """One for each device of each machine."""
    places = device_places([each for chart in charts for panel in chart.panels for each, _ in panel.bars])
    return {label: _COLOURS[place % len(_COLOURS)] for label, place in places.items()}


def _panel(panel: Panel, colours: dict[str, str]) -> Html:
    legend = [
        html('<span><svg width="12" height="12">{}</svg> {}</span>', _rect(each, colours, "0", 1, "12", 10), each.label)
        for each, _ in panel.bars
    ]
    line = '<svg width="18" height="12"><line class="cursor" x2="18" y1="6" y2="6" stroke-dasharray="4 3"/></svg>'
    if panel.baseline:
        legend.append(html("<span>{} 1× = {}</span>", Html(line), panel.baseline))
    return html(
        '<figure><figcaption><b>{}</b></figcaption><div class="legend">{}</div>{}</figure>',
        panel.title,
        joined(legend),
        _bars(panel, colours),
    )


def _bars(panel: Panel, colours: dict[str, str]) -> Html:
    """Lying bars, group by group, over an axis with its unit."""
    ticks = _even_ticks(panel.highest)
    parts, y = [], 2 * _GAP + 4
    for place, group in enumerate(panel.groups):
        found = [(each, bar) for each, bars in panel.bars if (bar := bars[place])]
        middle = y + len(found) * _BAR / 2 + 3
        parts.append(html('<text x="0" y="{:.0f}">{}</text>', middle, group))
        for each, bar in found:
            parts.append(_bar(each, bar, colours, y, ticks[-1], "×" if panel.baseline else ""))
            y += _BAR
        y += _GAP
    axis = [
        html(
            '<line class="grid" x1="{x:.2f}%" x2="{x:.2f}%" y1="{top}" y2="{y}"/>'
            '<text x="{x:.2f}%" y="{below}" text-anchor="middle">{words}</text>',
            x=_across(tick, ticks[-1]), top=_GAP + 8, y=y, below=y + 14, words=f"{tick:,g}",
        )
        for tick in ticks
    ]  # fmt: skip
    if panel.baseline:
        x = _across(1, ticks[-1])
        dashed = '<line class="cursor" stroke-dasharray="4 3" x1="{x:.2f}%" x2="{x:.2f}%" y1="{top}" y2="{y}"/>'
        parts.insert(0, html(dashed, x=x, top=_GAP + 8, y=y))  # below the numbers
    return html(
        '<svg width="100%" height="{height}" role="img" aria-label="{panel.title}: {panel.unit} by {panel.across}">'
        '<text x="0" y="10">{panel.across}</text>{axis}{bars}'
        '<text x="{middle}%" y="{end}" text-anchor="middle">{panel.unit}</text></svg>',
        height=y + _BELOW, panel=panel, axis=joined(axis), bars=joined(parts), middle=_LEFT + _WIDE / 2, end=y + 30,
    )  # fmt: skip


def _bar(series: BarSeries, bar: Bar, colours: dict[str, str], y: int, top: float, unit: str) -> Html:
    if bar.value is None:
        why = html('<text x="{}%" y="{}" dx="8">{}</text>', _LEFT, y + 11, bar.word)
        return joined([_rect(series, colours, f"{_LEFT}%", y + 1, "3", _BAR - 3), why])
    parts = [_rect(series, colours, f"{_LEFT}%", y + 1, f"{_across(bar.value, top) - _LEFT:.2f}%", _BAR - 3)]
    end = bar.value
    if bar.low is not None and bar.high is not None and bar.high > 1.02 * bar.low:
        end = bar.high
        low, high = _across(bar.low, top), _across(bar.high, top)
        middle = y + 1 + (_BAR - 3) / 2
        parts.append(html('<line class="spread" stroke="var(--ink)" x1="{:.2f}%" x2="{:.2f}%" y1="{y}" y2="{y}"/>',
                          low, high, y=middle))  # fmt: skip
    words = figure_words(bar.value) + unit
    parts.append(html('<text class="value" x="{:.2f}%" y="{}" dx="4">{}</text>', _across(end, top), y + 11, words))
    return joined(parts)


def _rect(series: BarSeries, colours: dict[str, str], x: str, y: int, width: str, height: int) -> Html:
    """The Trainer's bars are pale, and those of an emulated device dashed."""
    return html(
        '<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="var(--{colour})" stroke="var(--{colour})" '
        'fill-opacity="{pale}" stroke-dasharray="{dashes}"/>',
        x=x, y=y, width=width, height=height, colour=colours[series.label],
        pale=1 if series.library == PIPPIN else 0.2, dashes="3 2" if series.is_emulated else "none",
    )  # fmt: skip


def _across(value: float, top: float) -> float:
    return _LEFT + _WIDE * value / top


def _even_ticks(highest: float) -> list[float]:
    """From 0 to at least the highest, in round steps.

    >>> _even_ticks(34.9), _even_ticks(1.44)
    ([0, 10, 20, 30, 40], [0.0, 0.5, 1.0, 1.5])
    """
    rough = (highest or 1) / _TICKS
    power = 10 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough)
    return [round(place * step, 10) for place in range(math.ceil(round(highest / step, 6)) + 1)]
