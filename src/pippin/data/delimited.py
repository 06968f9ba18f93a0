"""CSV and TSV text into columns of strings. What a cell means is decided later, by what the column is for."""

from __future__ import annotations

import csv
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from pippin.data import text_files
from pippin.data.chunks import in_chunks
from pippin.data.quotes import refuse_swallowed_rows
from pippin.data.tables import Header, Table, TableStream, characters, column_names, columns_of, listed
from pippin.data.text_files import empty_file, lines_of
from pippin.errors import PippinError

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
#: Rows with too many or too few cells that a message shows.
_MOST_SHOWN = 3

#: A row's cells, and the lines on which it begins and ends.
Row = tuple[list[str], int, int]
#: All rows from the start, as often as they are asked for; the first names the columns.
Rows = Callable[[], Iterator[Row]]
Lines = Callable[[], Iterator[str]]


class _BadQuote(PippinError):
    """Quotes by which the rows cannot be told apart."""


@dataclass
class _Survey:
    """What one look through all rows shows."""

    header: list[str]
    count: int = 0
    """Rows, the header among them."""
    uneven: int = 0
    """Rows that have more or fewer cells than the header."""
    shown: list[tuple[int, Row]] = field(default_factory=list)
    """The first of them, with their numbers."""
    repeated: tuple[int, Row] | None = None
    """The first row that is the header once more."""
    has_long_rows: bool = False
    """Whether any row runs over several lines."""


def open_delimited(blocks: Callable[[], Iterator[str]], origin: str, suffix: str, header: Header = None) -> TableStream:
    """Every cell as a string. Rows with too many or too few fields and open quotes are errors with their line."""

    def lines() -> Iterator[str]:
        return lines_of(blocks(), origin)

    delimiter = _find_delimiter(lines(), origin, suffix)
    expected = "," if suffix == ".csv" else "\t"
    notes = () if delimiter == expected else (f"{origin}: fields are separated by {_DELIMITERS[delimiter]}.",)
    quoted: Rows = partial(_headed, partial(_quoted, lines, delimiter, origin), header)
    bare: Rows = partial(_headed, partial(_bare, lines), header)
    rows, survey = _tabbed(lines, bare, quoted) if delimiter == "\t" else (quoted, _look_through(quoted()))
    names = column_names(survey.header, origin)
    _check_rows(survey, names, delimiter, origin, header)
    if survey.has_long_rows:
        refuse_swallowed_rows(lambda: islice(rows(), 1, None), len(names), delimiter, origin)

    def parts() -> Iterator[Table]:
        for first, chunk in in_chunks(islice(rows(), 1, None), lambda row: characters(row[0])):
            columns = columns_of(names, [cells for cells, _, _ in chunk])
            yield Table(columns, origin, lines=array("q", (line for _, line, _ in chunk)), first=first)

    return TableStream(origin, tuple(names), parts, survey.count - 1, notes)


def _find_delimiter(lines: Iterable[str], origin: str, suffix: str) -> str:
    """The one most used in the first line. Where it has none, the one that the suffix promises."""
    header = next((line for line in lines if line.strip()), None)
    if header is None:
        raise empty_file(origin)
    counts = Counter(re.sub(r'"[^"]*"', "", header))
    usual = "," if suffix == ".csv" else "\t"
    if suffix != ".csv" and counts["\t"]:
        return "\t"
    return max([usual, *_DELIMITERS], key=lambda delimiter: counts[delimiter])


def _quoted(lines: Lines, delimiter: str, origin: str) -> Iterator[Row]:
    """Rows whose cells may stand in double quotes, and then hold delimiters and line ends."""
    csv.field_size_limit(text_files.LONGEST_LINE)  # a text may be megabytes; the default stops at 128 KiB
    return _without_blanks(_read_csv(lines(), delimiter, origin))


def _read_csv(lines: Iterable[str], delimiter: str, origin: str) -> Iterator[Row]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            yield cells, line, reader.line_num
            line = reader.line_num + 1
    except csv.Error as error:
        raise _BadQuote(f"{origin}, {_explain(error, line)}") from None


def _explain(error: csv.Error, line: int) -> str:
    if "new-line character" in str(error):
        return f"line {line}: a carriage return stands inside a cell. Put that text in double quotes, or take it out."
    if "field larger" in str(error):
        return f"line {line}: a cell is {text_files.too_long()} A double quote that is never closed makes such a cell."
    if "NUL" in str(error):
        return f"line {line}: a cell holds a NUL byte. Take it out."
    return (
        f"line {line}: a double quote is opened and not closed properly ({error}). "
        'Close it, or write a quote inside a text as "".'
    )


def _bare(lines: Lines) -> Iterator[Row]:
    """Rows in which a quote is a character as any other: each line is one."""
    return _without_blanks(
        (line.removesuffix("\n").rstrip("\r").split("\t"), number, number) for number, line in enumerate(lines(), 1)
    )


def _headed(rows: Rows, header: Header) -> Iterator[Row]:
    """The rows behind one that names the columns; without a name, by their places."""
    found = rows()
    if header is not None and (first := next(found, None)) is not None:
        yield [*header] or [f"column{place}" for place in range(1, len(first[0]) + 1)], 0, 0
        yield first
    yield from found


def _tabbed(lines: Lines, bare: Rows, quoted: Rows) -> tuple[Rows, _Survey]:
    """Rows of a TSV. Some quote as CSV does; in many a quote is a part of the text, also at a cell's start."""
    as_bare, as_quoted = _look_through(bare()), None
    if any(cell.startswith('"') for line in lines() if '"' in line for cell in line.split("\t")):
        with suppress(_BadQuote):
            as_quoted = _look_through(quoted())
    if as_quoted is None or as_quoted.uneven:
        return bare, as_bare
    # Where each line is a whole row already, a quoted cell over several lines would swallow rows.
    swallows = not as_bare.uneven and (
        as_quoted.count != as_bare.count or any("\t" in cell for cells, _, _ in quoted() for cell in cells)
    )
    return (bare, as_bare) if swallows else (quoted, as_quoted)


def _without_blanks(rows: Iterable[Row]) -> Iterator[Row]:
    """Blank lines are no rows. In a file of one column those between rows are empty cells, and stay."""
    width = 0
    blanks: list[Row] = []
    for row in rows:
        cells, first, last = row
        if len(cells) > 1 or (cells and cells[0].strip()):
            width = width or len(cells)
            yield from blanks
            blanks.clear()
            yield row
        elif width == 1:
            blanks.append((cells or [""], first, last))


def _look_through(rows: Iterator[Row]) -> _Survey:
    header = next(rows, ([], 1, 1))[0]
    survey, width = _Survey(header, count=1), len(header)
    for number, row in enumerate(rows, 1):
        cells, first, last = row
        survey.count += 1
        survey.has_long_rows |= first != last
        if len(cells) != width:
            survey.uneven += 1
            if survey.uneven <= _MOST_SHOWN:
                survey.shown.append((number, row))
        elif survey.repeated is None and cells == header:
            survey.repeated = number, row
    return survey


def _check_rows(survey: _Survey, names: list[str], delimiter: str, origin: str, header: Header) -> None:
    named = "the first line names" if header is None else "--column_names names" if header else "the first line has"
    if survey.uneven:
        shown = "; ".join(
            f"row {number} (line {line}) has {len(cells)}: {delimiter.join(cells)[:60]!r}"
            for number, (cells, line, _) in survey.shown
        )
        more = f"; and {survey.uneven - _MOST_SHOWN} rows more" if survey.uneven > _MOST_SHOWN else ""
        raise PippinError(
            f"{origin}: {named} {len(names)} columns ({listed(names)}), but {shown}{more}. "
            "Fill in what is missing, and put texts that hold the separator in double quotes."
        )
    if survey.repeated and len(names) > 1:
        number, (_, line, _) = survey.repeated
        if header is not None:
            raise PippinError(
                f"{origin}, row {number} (line {line}) holds the names of --column_names. Leave the flag out: the file "
                "names its columns itself."
            )
        raise PippinError(
            f"{origin}, row {number} (line {line}) repeats the first line, {listed(names)}. If the first line names "
            "the columns, take this one out. If not, add a first line that does, such as text,label."
        )
