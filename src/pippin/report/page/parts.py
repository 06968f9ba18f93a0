"""What a task has to show, on a page: tables, matrices, bars and scatters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pippin.report.page.charts import Chart, scatter_chart
from pippin.report.page.frame import figures_of
from pippin.report.page.marks import Stroke, is_marked, is_names, marked, names, strokes
from pippin.report.page.markup import Html, capital, html, joined, language, sentence, theirs
from pippin.report.page.matrix import is_small, matrix
from pippin.report.page.metric_names import figure
from pippin.report.page.tables import Look, bars, table
from pippin.report.report import Report
from pippin.tasks.parts import Bars, Part, TablePart

_MOST_CONFUSIONS, _MOST_ROWS, _MOST_BARS = 100, 500, 200
#: Formats of columns that are no numbers; those of texts, and those whose cells are held against each other.
_WORDS = ("", "long", "marked", "names")
_TEXTS, _COMPARED = {"long", "marked"}, {"marked": is_marked, "names": is_names}
#: By these columns the worst comes first.
_WORST_FIRST = ("f1",)


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
    has_pairs = part.most is not None and bool(part.most.rows)
    if part.most and has_pairs and not (part.matrix and is_small(part.matrix)):
        yield _table(replace(part.most, what="pairs"), _MOST_CONFUSIONS)
    if part.matrix:
        yield matrix(part.matrix)
    if part.bars:
        yield _bars(part.bars)


def _table(part: TablePart, most: int = _MOST_ROWS) -> Html:
    """Cells as their columns want them, the worst row first."""
    formats = [*part.formats, *[""] * (len(part.heads) - len(part.formats))]
    numbers = frozenset(place for place, how in enumerate(formats) if how not in _WORDS)
    # The names of text columns are the user's.
    heads = [theirs(name) if how == "long" else capital(name) for name, how in zip(part.heads, formats, strict=False)]
    worst = next((place for place in numbers if place < len(heads) and part.heads[place].lower() in _WORST_FIRST), None)
    rows = list(part.rows)
    if worst is not None:
        rows.sort(key=lambda row: _size(row[worst]) if worst < len(row) else _size(None))
    kinds = strokes(cell for row in rows for cell, how in zip(row, formats, strict=False) if how == "marked")
    cells = [_cells(row, formats, kinds) for row in rows[:most]]
    is_long = not _TEXTS.isdisjoint(formats)
    look = Look(numbers, sorts=True, rising=worst, what=part.what, cards="cards" if is_long else "", sticky=not is_long)
    left = f"The first {most} of {len(rows)} {part.what}; report.json has them all." if len(rows) > most else ""
    missing = "–: there is no such figure." if any(cell is None for row in rows for cell in row) else ""
    framed = "Framed: what the other column does not have." if max(map(formats.count, _COMPARED)) > 1 else ""
    above, below = (joined(map(_caption, words)) for words in ((part.caption, framed), (left, missing)))
    return html("<div>{}{}{}</div>", above, table(heads, cells, look), below)


def _cells(row: Sequence[Any], formats: Sequence[str], kinds: Mapping[str, Stroke]) -> list[Html]:
    """The cells of a row, where they can be compared with the others of their format."""
    cells = list(zip(row, formats, strict=False))
    alike = {how: [cell for cell, of in cells if of == how and fits(cell)] for how, fits in _COMPARED.items()}
    return [_cell(cell, how, kinds, alike.get(how, ())) for cell, how in cells]


def _cell(cell: Any, how: str, kinds: Mapping[str, Stroke], alike: Sequence[Any]) -> Html:
    if how == "marked" and is_marked(cell):
        return marked(cell, kinds, alike)
    if how == "names" and is_names(cell):
        return names(cell, alike)
    if how == "long":
        return html('<div class="text" dir="auto"{}>{}</div>', language(str(cell)), cell)
    return theirs(cell) if how == "" and cell is not None else html("{}", figure(cell, how) if how else "–")


def _size(cell: object) -> tuple[bool, float]:
    """For sorting: what is no number comes last."""
    return (False, cell) if type(cell) in (int, float) and cell == cell else (True, 0.0)  # type: ignore[return-value]


def _caption(words: str) -> Html:
    return html('<p class="soft">{}</p>', sentence(words)) if words else html("")


def _bars(part: Bars) -> Html:
    named = [(theirs(name), count) for name, count in zip(part.names, part.counts, strict=False)]
    more = f"and {len(named) - _MOST_BARS} {part.what} more" if len(named) > _MOST_BARS else ""
    return html("<div>{}{}</div>", bars(named[:_MOST_BARS], part.what, part.counted), _caption(more))
