"""The panels of a benchmark as pictures, each as PNG and as SVG."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pippin.commands.bench.results import PIPPIN, Bench
from pippin.commands.bench.views.panels import Panel, memory_panels, speed_up_panels, throughput_panels
from pippin.commands.bench.views.series import EMULATED_NOTE, BarSeries, machine_words, series_of, software_words
from pippin.files import staged_file

_ENDINGS = (".png", ".svg")
#: Told apart by colour-blind people too.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
#: From this ratio between the highest and the lowest bar on, the axis is logarithmic.
_FAR_APART = 20.0
_PANEL_WIDTH, _PANEL_HEIGHT = 6.2, 3.6
_FOOTER_LETTERS = 150
_FEWEST_GROUPS = 3


def write_charts(benches: Sequence[Bench], folder: Path) -> list[str]:
    """Draw all charts that there is something for; returns the names of the pictures, PNG alone."""
    import matplotlib

    matplotlib.use("Agg")
    model = " / ".join(dict.fromkeys(bench.model for bench in benches))
    baseline, speed_ups = speed_up_panels(benches)
    charts = {
        "speed_up": (f"{model}: how many times as fast as {baseline}", speed_ups),
        "throughput": (f"{model}: samples a second", throughput_panels(benches)),
        "memory": (f"{model}: memory", memory_panels(benches)),
    }
    written = []
    for name, (title, panels) in charts.items():
        if panels:
            figure = _figure(title, panels, benches)
            for ending in _ENDINGS:
                with staged_file(folder / f"{name}{ending}") as file:
                    figure.savefig(file, dpi=150, format=ending.removeprefix("."))
            written.append(f"{name}{_ENDINGS[0]}")
    return written


def _figure(title: str, panels: list[Panel], benches: Sequence[Bench]) -> Any:
    from matplotlib.figure import Figure  # not pyplot: nothing is left open, and no window is asked for
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.patches import Patch

    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    footer = _footer(benches, any(bar and bar.high for panel in panels for _, bars in panel.bars for bar in bars))
    series = series_of(benches)
    named = {each.label for panel in panels for each, _ in panel.bars}
    shown = [each for each in series if each.label in named]
    below = 0.17 * (footer.count("\n") + 1) + 0.25
    above = 0.55 + 0.25 * -(-len(shown) // 2)
    height = rows * _PANEL_HEIGHT + below + above
    layout = ConstrainedLayoutEngine(rect=(0, below / height, 1, 1 - (below + above) / height), h_pad=0.12)
    figure = Figure(figsize=(columns * _PANEL_WIDTH + 0.6, height), layout=layout)
    looks = {each.label: _look(place, each, series) for place, each in enumerate(series)}
    for place, panel in enumerate(panels, 1):
        _draw(figure.add_subplot(rows, columns, place), panel, looks)
    width = 15 * columns * _PANEL_WIDTH
    figure.suptitle(textwrap.shorten(title, int(width), placeholder="…"), x=0.012, y=1 - 0.12 / height,
                    ha="left", va="top", fontsize=13, weight="bold")  # fmt: skip
    figure.legend(handles=[Patch(label=each.label, **looks[each.label]) for each in shown], loc="upper left",
                  bbox_to_anchor=(0.006, 1 - 0.42 / height), ncols=min(columns, len(shown)), frameon=False,
                  fontsize=9)  # fmt: skip
    figure.text(0.012, 0.1 / height, footer, fontsize=7, color="#555555", va="bottom")
    return figure


def _look(place: int, series: BarSeries, all_series: list[BarSeries]) -> dict[str, Any]:
    """A colour for each device of each machine; the Trainer's bars are the same in light, with lines."""
    own = [each for each in all_series if each.library == PIPPIN]
    alike = [n for n, each in enumerate(own) if each.bench is series.bench and each.device == series.device]
    colour = _COLOURS[(alike[0] if alike else place) % len(_COLOURS)]
    look: dict[str, Any] = {"facecolor": colour, "edgecolor": "white", "linewidth": 0.5}
    if series.library != PIPPIN:
        look |= {"alpha": 0.5, "hatch": "///"}
    if series.is_emulated:
        look |= {"hatch": "...", "alpha": 0.6}
    return look


def _draw(axes: Any, panel: Panel, looks: dict[str, dict[str, Any]]) -> None:
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
            axes.annotate(_number(bar.value, panel.baseline), (x, max(bar.value, bar.high or 0)), (0, 2),
                          textcoords="offset points", ha="center", va="bottom", fontsize=7,
                          rotation=90 if turned else 0)  # fmt: skip
    if logarithmic:
        axes.set_yscale("log")
        axes.set_ylim(min(values) / 2, max(values) * 5)  # with room for the highest bar's number
        axes.yaxis.set_major_formatter("{x:g}")
    elif values:
        axes.set_ylim(0, 1.22 * max(values + [bar.high for _, bars in panel.bars for bar in bars if bar and bar.high]))
    if panel.baseline:
        axes.axhline(1, color="#333333", linewidth=0.8, linestyle=(0, (4, 3)), zorder=0.9)
    axes.set_xticks(range(len(panel.groups)), panel.groups)
    spare = max(0.0, (_FEWEST_GROUPS - len(panel.groups)) / 2)  # a few bars need not fill the whole width
    axes.set_xlim(-0.6 - spare, len(panel.groups) - 0.4 + spare)
    axes.set_xlabel(panel.across, fontsize=9)
    axes.set_ylabel(panel.unit + (" (logarithmic)" if logarithmic else ""), fontsize=9)
    axes.set_title(panel.title, fontsize=10, loc="left")
    axes.tick_params(labelsize=9)
    axes.yaxis.grid(True, color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
    for edge in ("top", "right"):
        axes.spines[edge].set_visible(False)


def _number(value: float, times: bool) -> str:
    """Three digits, and fewer where nobody reads them.

    >>> [_number(value, False) for value in (0.0625, 0.1234, 12.34, 1234.5)]
    ['0.06', '0.123', '12.3', '1234']
    """
    digits = f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.1 else f"{value:.1g}"
    return f"{digits}×" if times else digits


def _footer(benches: Sequence[Bench], spread: bool = True) -> str:
    lines = [f"{machine_words(bench)} · {software_words(bench)} · {bench.date[:10]}" for bench in benches]
    if len(benches) > 1:
        lines = [f"{number}: {line}" for number, line in enumerate(lines, 1)]
    if any(bench.emulated for bench in benches):
        lines.append(EMULATED_NOTE[:1].upper() + EMULATED_NOTE[1:] + ".")
    if any(not bench.complete for bench in benches):
        lines.append("Interrupted: not all was measured.")
    if spread:
        lines.append("Bars: the median of the repeats; lines: the slowest and the fastest.")
    return "\n".join(part for line in lines for part in textwrap.wrap(line, _FOOTER_LETTERS))
