"""What a task has to show, on a page: tables, matrices, bars and scatters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pippin.report.page.charts import Chart, scatter_chart
from pippin.report.page.frame import figures_of
from pippin.report.page.markup import Html, capital, html, joined, theirs
from pippin.report.page.metric_names import figure
from pippin.report.page.tables import Look, bars, table
from pippin.report.report import Report
from pippin.tasks.parts import Bars, Matrix, Part, TablePart

#: Larger matrices are told by their most frequent confusions.
_MOST_IN_MATRIX, _MOST_CONFUSIONS, _MOST_ROWS, _MOST_BARS = 24, 30, 500, 200
#: By these columns the worst comes first.
_WORST_FIRST = ("f1",)
#: Names of a matrix up to this many characters stand beside each other.
_SHORT_NAME = 6


def scatter_charts(report: Report | None) -> list[Chart]:
    """The scatters of a report; their places are in the parts."""
    parts = report.parts if report else ()
    return [scatter_chart(f"scatter{place}", part.scatter) for place, part in enumerate(parts) if part.scatter]


def parts_of(report: Report | None) -> Html:
    """A section for each part of the report."""
    parts = report.parts if report else ()
    section = "<section><h2>{}</h2>{}</section>"
    return joined((html(section, part.title, part_of(part, at)) for at, part in enumerate(parts)), between="\n")


def part_of(part: Part, place: int = 0) -> Html:
    """All that a part has to show, beside each other where there is room."""
    shown = list(_shown(part, place))
    return html('<div class="beside">{}</div>', joined(shown)) if len(shown) > 1 else joined(shown)


def _shown(part: Part, place: int) -> Iterator[Html]:
    """Each kind of thing that a part can hold, in this order."""
    if part.scatter:
        figures = figures_of([scatter_chart(f"scatter{place}", part.scatter)])
        yield html('<div class="square">{}{}</div>', figures, _caption(part.scatter.caption))
    if part.table:
        yield _table(part.table)
    if part.matrix and len(part.matrix.names) <= _MOST_IN_MATRIX:
        yield _matrix(part.matrix)
    elif part.most and part.most.rows:
        yield _table(replace(part.most, what="pairs"), _MOST_CONFUSIONS)
    if part.bars:
        yield _bars(part.bars)


def _table(part: TablePart, most: int = _MOST_ROWS) -> Html:
    """Cells as their columns want them, the worst row first."""
    formats = [*part.formats, *[""] * (len(part.heads) - len(part.formats))]
    numbers = frozenset(place for place, how in enumerate(formats) if how not in ("", "long"))
    # The names of text columns are the user's.
    heads = [theirs(name) if how == "long" else capital(name) for name, how in zip(part.heads, formats, strict=False)]
    worst = next((place for place in numbers if place < len(heads) and part.heads[place].lower() in _WORST_FIRST), None)
    rows = list(part.rows)
    if worst is not None:
        rows.sort(key=lambda row: _size(row[worst]) if worst < len(row) else _size(None))
    cells = ([_cell(cell, how) for cell, how in zip(row, formats, strict=False)] for row in rows[:most])
    is_long = "long" in formats
    look = Look(numbers, sorts=True, rising=worst, what=part.what, cards="cards" if is_long else "", sticky=not is_long)
    left = f"The first {most} of {len(rows)} {part.what}; report.json has them all." if len(rows) > most else ""
    missing = "–: there is no such figure." if any(cell is None for row in rows for cell in row) else ""
    notes = joined(map(_caption, (left, missing)))
    return html("<div>{}{}{}</div>", _caption(part.caption), table(heads, cells, look), notes)


def _cell(cell: object, how: str) -> Html:
    if how == "long":
        return html('<div class="text" dir="auto">{}</div>', cell)
    return theirs(cell) if how == "" and cell is not None else html("{}", figure(cell, how) if how else "–")


def _size(cell: object) -> tuple[bool, float]:
    """For sorting: what is no number comes last."""
    return (False, cell) if type(cell) in (int, float) and cell == cell else (True, 0.0)  # type: ignore[return-value]


def _caption(words: str) -> Html:
    return html('<p class="soft">{}</p>', words) if words else html("")


def _bars(part: Bars) -> Html:
    named = [(theirs(name), count) for name, count in zip(part.names, part.counts, strict=False)]
    more = f"and {len(named) - _MOST_BARS} {part.what} more" if len(named) > _MOST_BARS else ""
    return html("<div>{}{}</div>", bars(named[:_MOST_BARS], part.what), _caption(more))


def _matrix(part: Matrix) -> Html:
    is_upright = any(len(name) > _SHORT_NAME for name in part.names)
    lines = []
    for down, (name, row) in enumerate(zip(part.names, part.counts, strict=False)):
        total = max(sum(row), 1)
        cells = joined(
            html('<td class="{}heat{}">{}</td>', "right " * (across == down), -(-4 * count // total), count or "·")
            for across, count in enumerate(row)
        )
        lines.append(html('<tr><th scope="row" dir="auto" title="{0}">{0}</th>{1}</tr>', name, cells))
    return html(
        '<div>{}<div class="wide"><table class="matrix sticky{}"><thead><tr><td></td>{}</tr></thead>'
        "<tbody>{}</tbody></table></div></div>",
        _caption(part.caption),
        " upright" if is_upright else "",
        joined(html('<th scope="col" dir="auto" title="{0}"><span>{0}</span></th>', name) for name in part.names),
        joined(lines),
    )
