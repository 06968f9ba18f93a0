"""How the pictures of `pippin bench` and `pippin preflight` look: title, footer, fonts and files."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pippin.files import staged_file

#: Okabe and Ito's palette: told apart by colour-blind people too.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
#: Characters that fit into an inch of the title and of the footer.
_TITLE, _FOOTER = 8.6, 17.0
_SOFT = "#555555"
#: For names in other scripts, where they are installed; the first is matplotlib's own.
_FONTS = ("DejaVu Sans", "PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Noto Sans CJK SC", "Microsoft YaHei")


def make_figure(width: float, height: float, title: str, footer: Iterable[str], legend: float = 0.0) -> Any:
    """A figure with room of that size, in inches, between title and ``legend`` above and the footer below."""
    import matplotlib
    from matplotlib import font_manager
    from matplotlib.figure import Figure  # not pyplot: nothing stays open, and no window is asked for
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    installed = {font.name for font in font_manager.fontManager.ttflist}
    matplotlib.rcParams["font.family"] = [name for name in _FONTS if name in installed]
    heading = textwrap.wrap(title, int(_TITLE * width))
    small = [part for line in footer for part in textwrap.wrap(line, int(_FOOTER * width))]
    above, below = 0.2 + 0.22 * len(heading) + legend, 0.2 + 0.13 * len(small)
    whole = height + above + below
    layout = ConstrainedLayoutEngine(rect=(0.01, below / whole, 0.98, height / whole), h_pad=0.12)
    figure = Figure(figsize=(width, whole), layout=layout)
    figure.text(0.012, 1 - 0.1 / whole, "\n".join(heading), fontsize=13, weight="bold", va="top")
    figure.text(0.012, 0.1 / whole, "\n".join(small), fontsize=7, color=_SOFT, va="bottom")
    return figure


def save_figure(figure: Any, path: Path) -> None:
    """Into a file whose ending says in which format."""
    with staged_file(path) as file, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a box in the picture says it
        figure.savefig(file, dpi=150, format=path.suffix.lower().removeprefix("."))


def figure_words(value: float) -> str:
    """Three digits or so.

    >>> [figure_words(value) for value in (0.0625, 0.1234, 29.0, 1234.5)]
    ['0.06', '0.12', '29.0', '1,234']
    """
    return f"{value:,.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
