"""Texts with marks in colour, and lists of names: what one of two answers has and the other has not is framed."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pippin.report.page.markup import Html, html, joined, language, theirs

#: Marks have so many colours and kinds of lines below them. Colours change from mark to mark between warm and cold and
#: lines after two, so that eight kinds are told apart by whoever sees few colours, and 24 by everybody.
_COLOURS, _LINES, _OF_A_LINE = 6, 4, 2
_MARK = '<mark class="kind{} line{}{}">{}<small>&nbsp;<bdi>{}</bdi>{}</small></mark>'
#: Written behind a label, which has a direction of its own, so that it stays where the marked words end. Those that
#: are written in both directions stand by themselves, else the words around them would come between.
_GOES_ON = {"L": Html("&lrm;"), "R": Html("&rlm;"), "AL": Html("&#x61c;")}


class Stroke(NamedTuple):
    """How the marks of one label look."""

    colour: int
    line: int


def strokes(cells: Iterable[Any]) -> dict[str, Stroke]:
    """A stroke for each label of the marks in these cells.

    >>> strokes([("Ada saw Paris", [(0, 3, "PER"), (8, 13, "LOC")])])
    {'LOC': Stroke(colour=0, line=0), 'PER': Stroke(colour=1, line=0)}
    """
    labels = sorted({mark[2] for cell in cells if is_marked(cell) for mark in cell[1]})
    return {label: Stroke(at % _COLOURS, at // _OF_A_LINE % _LINES) for at, label in enumerate(labels)}


def is_marked(cell: Any) -> bool:
    """Whether a cell is what it should be: a record may be anybody's."""
    return (
        isinstance(cell, (list, tuple))
        and len(cell) == 2
        and isinstance(cell[0], str)
        and isinstance(cell[1], (list, tuple))
        and all(isinstance(mark, (list, tuple)) and len(mark) == 3 for mark in cell[1])
        and all(type(start) is type(end) is int and isinstance(label, str) for start, end, label in cell[1])
    )


def is_names(cell: Any) -> bool:
    return isinstance(cell, (list, tuple)) and all(isinstance(name, str) for name in cell)


def marked(cell: Any, look: Mapping[str, Stroke], others: Sequence[Any] = ()) -> Html:
    """A text with its marks, each with its label; those are framed that another cell does not have."""
    (text, marks), pieces, at, way = cell, list[object](), 0, ""
    in_others = [set(map(tuple, other[1])) for other in others]
    for start, end, label in marks:
        way = (_ways(text[at:end]) or [way])[-1]
        is_mixed = len({found == "L" for found in _ways(text[start:end])}) > 1
        differs = any((start, end, label) not in other for other in in_others)
        kinds = " differs" * differs + " mixed" * is_mixed
        after = "" if is_mixed else _GOES_ON.get(way, "")
        pieces += [text[at:start], html(_MARK, *look[label], kinds, text[start:end], label, after)]
        at = end
    return html('<div class="text" dir="auto"{}>{}</div>', language(text), joined([*pieces, text[at:]]))


def _ways(text: str) -> list[str]:
    """The directions in which the letters of a text are written."""
    return [found for found in map(unicodedata.bidirectional, text) if found in _GOES_ON]


def names(cell: Sequence[str], others: Sequence[Sequence[str]] = ()) -> Html:
    """Names beside each other; those are framed that another cell does not have."""
    if not cell:
        return html('<span class="soft">(none)</span>')
    framed = '<span class="differs">{}</span>'
    shown = (
        html(framed, theirs(name)) if any(name not in other for other in others) else theirs(name) for name in cell
    )
    return joined(shown, ", ")
