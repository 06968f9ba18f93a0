"""One job on every Mac as a picture: chips down, batch sizes across, the colour is the time."""

from __future__ import annotations

import textwrap
from pathlib import Path

from pippin.commands.preflight.compare import Comparison
from pippin.commands.preflight.views.words import cell_words, legend
from pippin.files import staged_file
from pippin.text import memory

_COLOURS, _TOO_LARGE = "viridis_r", "#d9d9d9"


def write_chart(comparison: Comparison, path: Path) -> None:
    """Draw it into a file whose ending says in which format."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.colors import LogNorm

    seconds = [[cell.seconds for cell in row.cells] for row in comparison.rows]
    held = [[float("nan") if cell.memory is None else cell.seconds for cell in row.cells] for row in comparison.rows]
    norm = LogNorm(min(map(min, seconds)), max(map(max, seconds)))
    figure, axes = pyplot.subplots(figsize=(9, 0.42 * len(comparison.rows) + 2.2), layout="constrained")
    colours = matplotlib.colormaps[_COLOURS].with_extremes(bad=_TOO_LARGE)
    axes.imshow(held, cmap=colours, norm=norm, aspect="auto")
    for down, row in enumerate(comparison.rows):
        for across, cell in enumerate(row.cells):
            dark = cell.memory is not None and norm(cell.seconds) > 0.5
            axes.text(across, down, cell_words(cell, "too large"), ha="center", va="center", fontsize=9,
                      color="white" if dark else "black")  # fmt: skip
    heads = [f"batch {batch}\n{memory(needed)}" for batch, needed in comparison.needed.items()]
    axes.set_xticks(range(len(heads)), heads)
    axes.set_yticks(
        range(len(comparison.rows)), [f"{row.chip.removeprefix('Apple ')} ({row.gpu_cores})" for row in comparison.rows]
    )
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for edge in axes.spines.values():
        edge.set_visible(False)
    axes.set_title(f"{comparison.job}, {comparison.precision}", fontsize=12, loc="left", pad=12)
    axes.set_xlabel(textwrap.fill(legend(comparison), 120), fontsize=7.5, loc="left", labelpad=10)
    with staged_file(path) as file:
        figure.savefig(file, dpi=150, format=path.suffix.lower().removeprefix("."))
    pyplot.close(figure)
