"""What a task hands the report to show: tables, matrices and bars, as plain data that goes into records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Marked(NamedTuple):
    """A text with some of its stretches marked, as a cell of a table."""

    text: str
    marks: tuple[tuple[int, int, str], ...]
    """From, to, and the label of each, in the order of the text."""


@dataclass(frozen=True)
class TablePart:
    heads: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    """Cells are words, lists of them, numbers or marked texts; None for a figure that does not exist."""
    formats: tuple[str, ...] = ()
    """For each column: nothing for words, `names` for lists of them, `long` for texts that may be long, `marked` for
    those with marks, else how its numbers are written."""
    what: str = "rows"
    """What the rows stand for, in the plural."""
    caption: str = ""


@dataclass(frozen=True)
class Matrix:
    """How often each class was predicted for each."""

    names: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    caption: str = ""


@dataclass(frozen=True)
class Bars:
    """Numbers by name, the largest first."""

    names: tuple[str, ...]
    counts: tuple[int, ...]
    what: str = "rows"
    """What the bars stand for, in the plural."""
    counted: str = "rows"
    """What the numbers count."""


@dataclass(frozen=True)
class Scatter:
    """Actual numbers across, predicted ones up; the rows that were drawn where there are very many."""

    actual: tuple[float, ...]
    predicted: tuple[float, ...]
    caption: str = ""


@dataclass(frozen=True)
class Part:
    """A section of the report."""

    title: str
    table: TablePart | None = None
    matrix: Matrix | None = None
    """Of the names in the table's first column."""
    most: TablePart | None = None
    """The largest numbers outside the matrix's diagonal, where that is too large to be shown."""
    bars: Bars | None = None
    scatter: Scatter | None = None
    in_brief: bool = False
    """Whether a terminal shows it too."""
