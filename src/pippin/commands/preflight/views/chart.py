"""One job on every Mac as a picture: chips down, batch sizes across, the colour is the time."""

from __future__ import annotations

from pathlib import Path

from pippin.commands.charts import make_figure, save_figure
from pippin.commands.preflight.compare import Comparison
from pippin.commands.preflight.views.words import chip_words, explanation, heading, span
from pippin.text import memory

#: Told apart by colour-blind people too, and in grey: the darker, the longer.
_COLOURS, _TOO_LARGE = "cividis_r", "#e4e4e4"
_WIDTH, _ROW, _TICKS = 9.0, 0.4, 5


def write_chart(comparison: Comparison, path: Path) -> None:
    """Draw it into a file whose ending says in which format."""
    import matplotlib
    from matplotlib.colors import LogNorm

    rows = comparison.rows
    shown = [[cell.seconds if cell.memory else float("nan") for cell in row.cells] for row in rows]
    seconds = [cell.seconds for row in rows for cell in row.cells]
    low, high = min(seconds), max(seconds)
    norm = LogNorm(low, high)
    figure = make_figure(_WIDTH, _ROW * len(rows) + 0.9, heading(comparison), explanation(comparison))
    axes = figure.add_subplot()
    colours = matplotlib.colormaps[_COLOURS].with_extremes(bad=_TOO_LARGE)
    image = axes.imshow(shown, cmap=colours, norm=norm, aspect="auto")
    for down, row in enumerate(rows):
        for across, cell in enumerate(row.cells):
            words = f"{span(cell.seconds)} · {cell.memory} GB" if cell.memory else "does not fit"
            axes.text(across, down, words, ha="center", va="center", fontsize=9,
                      color="white" if cell.memory and norm(cell.seconds) > 0.5 else "black")  # fmt: skip
    heads = [f"{batch}\n{memory(needed)}" for batch, needed in comparison.needed.items()]
    axes.set_xticks(range(len(heads)), heads)
    axes.set_yticks(range(len(rows)), [chip_words(row) for row in rows])
    axes.set_ylabel("chip and GPU cores", fontsize=9)
    axes.set_xlabel("batch size, and the GPU memory it needs", fontsize=9, labelpad=8)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, aspect=40, pad=0.02, format=lambda value, _: span(value))
    bar.set_ticks([low * (high / low) ** (place / _TICKS) for place in range(_TICKS + 1)])
    bar.set_label("training time (log scale)", fontsize=9)
    bar.ax.tick_params(labelsize=9, length=0)
    bar.ax.minorticks_off()
    save_figure(figure, path)
