"""The charts of a benchmark as pictures, each as PNG and as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pippin.commands.bench.results import PIPPIN, Bench
from pippin.commands.bench.views.panels import BarChart, Panel, charts_of
from pippin.commands.bench.views.series import BarSeries, device_places, machine_words, series_of, software_words
from pippin.commands.charts import COLOURS, figure_words, make_figure, save_figure

_ENDINGS = (".png", ".svg")
#: From this ratio between the highest and the lowest bar on, the axis is logarithmic.
_FAR_APART = 20.0
_PANEL_WIDTH, _PANEL_HEIGHT = 6.4, 3.6
_FEWEST_GROUPS = 3


def write_charts(benches: Sequence[Bench], folder: Path) -> list[str]:
    """Draw all charts that there is something for; returns the names of the pictures, PNG alone."""
    charts = charts_of(benches)
    for chart in charts:
        figure = _figure(chart, benches)
        for ending in _ENDINGS:
            save_figure(figure, folder / f"{chart.name}{ending}")
    return [f"{chart.name}{_ENDINGS[0]}" for chart in charts]


def _figure(chart: BarChart, benches: Sequence[Bench]) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    series = series_of(benches)
    places = device_places(series)
    looks = {each.label: _look(each, COLOURS[places[each.label] % len(COLOURS)]) for each in series}
    named = {each.label for panel in chart.panels for each, _ in panel.bars}
    handles: list[Any] = [Patch(label=label, **look) for label, look in looks.items() if label in named]
    if baseline := chart.panels[0].baseline:
        handles.append(Line2D([], [], color="#333333", linewidth=0.8, linestyle="--", label=f"1× = {baseline}"))
    columns = min(2, len(chart.panels))
    rows, legend = -(-len(chart.panels) // columns), 0.21 * -(-len(handles) // columns) + 0.15
    width, height = columns * _PANEL_WIDTH, rows * _PANEL_HEIGHT
    figure = make_figure(width, height, chart.title, footer(chart, benches), legend)
    for place, panel in enumerate(chart.panels, 1):
        _draw(figure.add_subplot(rows, columns, place), panel, looks)
    top = figure.get_layout_engine().get()["rect"]
    figure.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.006, top[1] + top[3]), ncols=columns,
                  frameon=False, fontsize=9, borderaxespad=0.2)  # fmt: skip
    return figure


def _look(series: BarSeries, colour: str) -> dict[str, Any]:
    """The Trainer's bars are striped, and emulated ones dotted."""
    hatch = "///" * (series.library != PIPPIN) + "..." * series.is_emulated
    return {"facecolor": colour, "edgecolor": "white", "linewidth": 0.5, "hatch": hatch, "alpha": 0.6 if hatch else 1}


def _draw(axes: Any, panel: Panel, looks: dict[str, dict[str, Any]]) -> None:
    from matplotlib.patheffects import withStroke

    values = [bar.value for _, bars in panel.bars for bar in bars if bar and bar.value]
    logarithmic = bool(values) and not panel.baseline and max(values) / min(values) > _FAR_APART
    count = len(panel.bars)
    width, turned = 0.8 / count, count * len(panel.groups) > 10  # where there is little room for the numbers
    for number, (series, bars) in enumerate(panel.bars):
        for group, bar in enumerate(bars):
            x = group + (number - (count - 1) / 2) * width
            if bar is None:
                continue
            if bar.value is None:
                axes.text(x, 0.02, bar.word, rotation=90, ha="center", va="bottom", fontsize=7, color="#aa0000",
                          transform=axes.get_xaxis_transform())  # fmt: skip
                continue
            axes.bar(x, bar.value, width * 0.94, **looks[series.label])
            if bar.low is not None and bar.high is not None and bar.high > 1.02 * bar.low:
                axes.vlines(x, bar.low, bar.high, color="#333333", linewidth=0.8)
            axes.annotate(figure_words(bar.value) + "×" * bool(panel.baseline), (x, max(bar.value, bar.high or 0)),
                          (0, 2), textcoords="offset points", ha="center", va="bottom", fontsize=7,
                          rotation=90 if turned else 0,
                          path_effects=[withStroke(linewidth=2.5, foreground="white")])  # fmt: skip
    if logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(min(values) / 2, max(values) * 5)  # with room for the highest bar's number
    elif values:
        axes.set_ylim(0, 1.22 * panel.highest)
    axes.yaxis.set_major_formatter("{x:,g}")
    if panel.baseline:
        axes.axhline(1, color="#333333", linewidth=0.8, linestyle="--", zorder=0.9)
    axes.set_xticks(range(len(panel.groups)), panel.groups)
    spare = max(0.0, (_FEWEST_GROUPS - len(panel.groups)) / 2)  # a few bars need not fill the whole width
    axes.set_xlim(-0.6 - spare, len(panel.groups) - 0.4 + spare)
    axes.set_xlabel(panel.across, fontsize=9)
    axes.set_ylabel(panel.unit + (", log scale" if logarithmic else ""), fontsize=9)
    axes.set_title(panel.title, fontsize=10, loc="left")
    axes.tick_params(labelsize=9)
    axes.yaxis.grid(True, color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def footer(chart: BarChart, benches: Sequence[Bench]) -> list[str]:
    """Where the figures come from, and what a reader has to know of them."""
    lines = [f"{machine_words(bench)} · {software_words(bench)}" for bench in benches]
    if len(benches) > 1:
        lines = [f"{number}: {line}" for number, line in enumerate(lines, 1)]
    if any(bench.emulated for bench in benches):
        lines.append("Emulated: the CPU does the computing, so these are not the times of a real device.")
    if any(not bench.complete for bench in benches):
        lines.append("The benchmark was interrupted before everything was measured.")
    if any(bar and bar.high for panel in chart.panels for _, bars in panel.bars for bar in bars):
        lines.append("Bars show the median of the repeats, lines the slowest and the fastest.")
    return lines
