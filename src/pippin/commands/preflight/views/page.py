"""One job on every Mac as a web page in the dress of a run's."""

from __future__ import annotations

from pathlib import Path

from pippin.commands.preflight.compare import BatchForecast, Comparison
from pippin.commands.preflight.views.words import chip_words, explanation, heading, span
from pippin.files import write_text
from pippin.report.page.frame import page
from pippin.report.page.markup import Html, html, joined
from pippin.report.page.sections import section
from pippin.text import memory

_SHADES = 4


def write_page(comparison: Comparison, path: Path) -> None:
    """Write the table into a file."""
    title, cells = heading(comparison), [cell for row in comparison.rows for cell in row.cells]
    limits = _limits(cells)
    heads = joined(
        html("<th>{}<br>{}</th>", f"{batch:,}", memory(needed)) for batch, needed in comparison.needed.items()
    )
    rows = joined(
        html("<tr><th>{}</th>{}</tr>", chip_words(row), joined(_cell(cell, limits) for cell in row.cells))
        for row in comparison.rows
    )
    first = html("<th>batch size<br>GPU memory</th>")
    words = '<div class="wide"><table class="matrix sticky"><thead><tr>{}{}</tr></thead><tbody>{}</tbody></table></div>'
    matrix = html(words, first, heads, rows)
    parts = [
        html("<header><h1>{}</h1><p>{}</p></header>", title, _verdict(cells)),
        section(
            "Training time, and the smallest Mac memory that fits",
            html("{}{}", matrix, _legend(limits, any(cell.memory is None for cell in cells))),
        ),
        section(
            "What to know", html("<ul>{}</ul>", joined(html("<li>{}</li>", each) for each in explanation(comparison)))
        ),
    ]
    write_text(path, page(title, parts))


def _verdict(cells: list[BatchForecast]) -> str:
    fitting = sum(cell.memory is not None for cell in cells)
    if fitting == len(cells):
        return "It fits on every chip, at every batch size."
    return (
        f"It fits in {fitting} of {len(cells)} combinations of chip and batch size."
        if fitting
        else "It fits on no Mac."
    )


def _limits(cells: list[BatchForecast]) -> list[float]:
    """The longest time of each shade, evenly apart on a logarithmic scale; only what fits has a shade."""
    times = [cell.seconds for cell in cells if cell.memory is not None]
    if not times:
        return []
    low, high = min(times), max(times)
    return sorted({*(low * (high / low) ** (place / _SHADES) for place in range(1, _SHADES)), high})


def _shade(seconds: float, limits: list[float]) -> int:
    return next((place for place, limit in enumerate(limits, 1) if seconds <= limit), _SHADES)


def _cell(cell: BatchForecast, limits: list[float]) -> Html:
    if cell.memory is None:
        return html('<td class="number soft">does not fit</td>')
    words = '<td class="number heat{}">{}<br>fits in {} GB</td>'
    return html(words, _shade(cell.seconds, limits), span(cell.seconds), cell.memory)


def _legend(limits: list[float], some_do_not_fit: bool) -> Html:
    """The shades with their times."""
    words = '<span class="name heat{}">&nbsp;up to {}&nbsp;</span>'
    shades = joined((html(words, place, span(limit)) for place, limit in enumerate(limits, 1)), between=" ")
    times = html("Training time: {}", shades) if limits else ""
    rest = "Does not fit: needs more memory than any Mac with that chip has." if some_do_not_fit else ""
    return html("<p>{}</p>", joined(filter(None, (times, rest)), between=" · "))
