"""A .txt file: a table with tabs and column names, a label and a text on each line, or one text on each line."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pippin.data.chunks import in_chunks
from pippin.data.delimited import open_delimited
from pippin.data.tables import Table, TableStream, characters, columns_of, listed
from pippin.data.text_files import empty_file, lines_of
from pippin.errors import PippinError, shown

#: What fastText writes before each label.
_MARK = "__label__"
#: Rows by which columns are judged, and the characters of each cell that are looked at.
_ENOUGH, _START = 1000, 200
#: Characters of a cell that may be the name of a column.
_LONGEST_NAME = 40
_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")
#: A line as it stands, and its number.
Line = tuple[str, int]
#: A line's cells, and its number.
Row = tuple[list[str], int]


@dataclass
class _LineSurvey:
    """What one look through all lines shows."""

    lines: int = 0
    filled: int = 0
    """Those that are not blank."""
    tabs: set[int] = field(default_factory=set)
    """How many tabs these have."""
    unmarked: Line | None = None
    """The first of these that has no label in the manner of fastText."""
    start: list[list[str]] = field(default_factory=list)
    """The cells of the first of these."""


def open_text(blocks: Callable[[], Iterator[str]], origin: str, lines_are_texts: bool = False) -> TableStream:
    """The rows of such a file. Lines without a label are rows only where texts alone are wanted."""

    def lines() -> Iterator[Line]:
        return ((line.rstrip("\r\n"), number) for number, line in enumerate(lines_of(blocks(), origin), 1))

    survey = _look_through(lines())
    if not survey.start:
        raise empty_file(origin)
    if survey.start[0][0].startswith(_MARK):
        if survey.unmarked:
            text, number = survey.unmarked
            raise PippinError(
                f"{origin}, line {number}: expected {_MARK} and a label, as in the first line, but found {shown(text)}."
            )
        said = f"each line is read as {_MARK}LABEL TEXT"
        return _stream(lambda: _marked(lines(), origin), origin, ("label", "text"), survey.filled, said)
    is_even = len(survey.tabs) == 1 and survey.tabs != {0}
    has_names = is_even and _names_columns(survey.start)
    if is_even and not has_names and (names := _label_and_text(survey.start)):
        said = f"the first line names no columns, so each line is read as {names[0].upper()}, a tab, {names[1].upper()}"
        return _stream(lambda: _tabbed(lines()), origin, names, survey.filled, said)
    if lines_are_texts and not (has_names and survey.filled > 1) and (is_even or 0 in survey.tabs):
        whole = lambda: (([text], number) for text, number in lines())  # noqa: E731
        return _stream(whole, origin, ("text",), survey.lines, "each line is read as one text")
    if has_names or (len(survey.start[0]) > 1 and not is_even):
        return open_delimited(blocks, origin, ".txt")
    raise PippinError(
        f"{origin}: which part of a line is the label? Its first line is {shown(survey.start[0][0])}. Write each line "
        f"as LABEL, a tab, TEXT, or as {_MARK}LABEL TEXT; or name the columns in the first line, with tabs "
        "between them; or save the rows as .csv, .tsv or .jsonl."
    )


def _look_through(lines: Iterator[Line]) -> _LineSurvey:
    survey = _LineSurvey()
    for text, number in lines:
        survey.lines = number
        if not text.strip():
            continue
        survey.filled += 1
        survey.tabs.add(text.count("\t"))
        if survey.unmarked is None and not text.startswith(_MARK):
            survey.unmarked = text, number
        if len(survey.start) < _ENOUGH:
            survey.start.append([cell[:_START].strip() for cell in text.split("\t")])
    return survey


def _stream(
    rows: Callable[[], Iterator[Row]], origin: str, names: tuple[str, ...], count: int, said: str
) -> TableStream:
    def parts() -> Iterator[Table]:
        for first, chunk in in_chunks(rows(), lambda row: characters(row[0])):
            columns = columns_of(names, [cells for cells, _ in chunk])
            yield Table(columns, origin, lines=array("q", (line for _, line in chunk)), first=first)

    return TableStream(origin, names, parts, count, (f"{origin}: {said}.",), has_names=False)


def _tabbed(lines: Iterator[Line]) -> Iterator[Row]:
    return ((text.split("\t"), number) for text, number in lines if text.strip())


def _marked(lines: Iterator[Line], origin: str) -> Iterator[Row]:
    """fastText's lines: the label, then the text."""
    for text, number in lines:
        if not text.strip():
            continue
        label, _, rest = text.removeprefix(_MARK).partition(" ")
        if rest.startswith(_MARK):
            labels = [word.removeprefix(_MARK) for word in text.split() if word.startswith(_MARK)]
            raise PippinError(
                f"{origin}, line {number} has several labels ({listed(labels, 4)}), and Pippin learns one for each "
                "text. Keep one."
            )
        yield [label, rest], number


def _names_columns(rows: list[list[str]]) -> bool:
    """Whether the first line names columns: its cells are short, are no numbers, and do not occur again below."""
    return not any(
        not name or len(name) > _LONGEST_NAME or _NUMBER.fullmatch(name) or name in others
        for name, *others in zip(*rows, strict=True)
    )


def _label_and_text(rows: list[list[str]]) -> tuple[str, str] | None:
    """Which of two columns is the label: the only one of numbers, or the one whose values come again and again."""
    if len(rows[0]) != 2:
        return None
    columns = list(zip(*rows, strict=True))
    numbers = [all(_NUMBER.fullmatch(cell) for cell in column) for column in columns]
    kinds = [len(set(column)) for column in columns]
    for place in (0, 1):
        few = kinds[place] < kinds[1 - place] and kinds[place] <= len(rows) / 2
        if numbers[place] > numbers[1 - place] or (few and not any(numbers)):
            return ("label", "text") if place == 0 else ("text", "label")
    return None
