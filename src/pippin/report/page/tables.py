"""Tables of a page: numbers to the right, sorted by a click, folded where they are long."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pippin.report.page.markup import Html, capital, escaped, html, joined

#: Longer tables show so many rows, and the rest when asked to.
FOLDED_TO = 12
#: Pixels of a histogram from its top to the highest bar and to the foot of all.
_TOP, _FOOT = 18, 140
#: How wide it is at least, and a character below it and the gap between two names, in pixels.
_NARROWEST, _CHARACTER, _GAP = 340, 6.2, 12
#: Percent of its width that a bar takes up at most.
_WIDEST = 8.0


@dataclass(frozen=True)
class Cell:
    """A cell that is sorted by something else than what it shows, or stands out."""

    shown: object
    value: object = None
    kind: str = ""


@dataclass(frozen=True)
class Look:
    """What a table can do."""

    numbers: frozenset[int] = frozenset()
    """Columns of numbers."""
    sorts: bool = False
    rising: int | None = None
    """The column by which it is sorted already, the lowest first."""
    what: str = "rows"
    """What the rows stand for, in the plural."""
    cards: Literal["", "cards", "cards bare"] = ""
    """Whether a row stands as a card of its own on a phone: with the heads in it, or without."""
    sticky: bool = False
    """Whether the first column stays where the others are scrolled."""


_PLAIN = Look()
_BAR = (
    '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
    '<rect width="{:.1f}" height="10"/></svg>'
)


def table(heads: Sequence[object], rows: Iterable[Sequence[object]], look: Look = _PLAIN) -> Html:
    """Cells are text, Html or a ``Cell``."""
    kinds = [*filter(None, [look.cards]), *["sticky"] * look.sticky]
    sorting = html("")
    if look.sorts:
        kinds.append("sortable")
        sorting = html(' data-most="{}" data-what="{}"', FOLDED_TO, look.what)
    classes = html(' class="{}"', " ".join(kinds)) if kinds else ""
    names = list(map(escaped, heads)) if look.cards == "cards" else []
    head = joined(
        html(
            '<th scope="col"{}{}>{}</th>',
            Html(" class=number") if place in look.numbers else "",
            Html(' aria-sort="ascending"') if place == look.rising else "",
            text,
        )
        for place, text in enumerate(heads)
    )
    body = joined((html("<tr>{}</tr>", joined(_cells(row, look, names))) for row in rows), between="\n")
    shown = html("<thead><tr>{}</tr></thead>", head) if any(heads) else ""
    return html('<div class="wide"><table{}{}>{}<tbody>{}</tbody></table></div>', classes, sorting, shown, body)


def _cells(row: Sequence[object], look: Look, names: Sequence[Html]) -> Iterable[Html]:
    for place, each in enumerate(row):
        cell = each if isinstance(each, Cell) else Cell(each)
        kind = " ".join(filter(None, ("number" * (place in look.numbers), cell.kind)))
        yield html(
            "<td{}{}{}>{}</td>",
            html(" class={}" if " " not in kind else ' class="{}"', kind) if kind else "",
            html(' data-value="{}"', cell.value) if cell.value is not None else "",
            html(' data-head="{}"', _plain(names[place])) if names else "",
            cell.shown,
        )


def _plain(head: Html) -> Html:
    """A head without its tags, for an attribute."""
    return Html(re.sub("<[^>]*>", "", head))


def bars(entries: Sequence[tuple[object, float]], what: str, counted: str) -> Html:
    """Numbers of what is counted, with a bar for each; ``what`` has them, in the plural."""
    most = max((count for _, count in entries), default=0) or 1
    rows = ([name, html(_BAR, 100 * count / most), count] for name, count in entries)
    return table([capital(what), "", capital(counted)], rows, Look(frozenset({2}), sorts=True, what=what))


def histogram(entries: Sequence[tuple[str, int]], across: str) -> Html:
    """Numbers of rows as bars that stand beside each other; each says its own under the pointer."""
    most, wide = max((count for _, count in entries), default=0) or 1, min(100 / max(len(entries), 1), _WIDEST)
    longest = max((len(name) for name, _ in entries), default=0)
    every = math.ceil((longest * _CHARACTER + _GAP) / (_NARROWEST * wide / 100))  # so that names have room on a phone
    level = '<line class="grid" x2="100%" y1="{0}" y2="{0}"/><text y="{1}">{2} rows</text>'
    words = '<text x="{:.2f}%" y="{}" text-anchor="middle">{}</text>'
    parts = [html(level, _TOP, _TOP - 5, most)]
    for place, (name, count) in enumerate(entries):
        high, left = (_FOOT - _TOP) * count / most, wide * place
        bar = '<rect x="{:.2f}%" y="{:.1f}" width="{:.2f}%" height="{:.1f}"><title>{} {}: {} rows</title></rect>'
        parts.append(html(bar, left + wide * 0.06, _FOOT - high, wide * 0.88, high, name, across, count))
        if place % every == 0:
            parts.append(html(words, left + wide / 2, _FOOT + 15, name))
    parts.append(html(words, wide * len(entries) / 2, _FOOT + 32, across))
    return html(
        '<svg class="histogram" height="{}" role="img" aria-label="Rows by {}">{}</svg>',
        _FOOT + 36,
        across,
        joined(parts),
    )
