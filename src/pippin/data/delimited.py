"""CSV and TSV text into columns of strings. What a cell means is decided later, by what the column is for."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass

from pippin.data.quotes import refuse_swallowed_rows
from pippin.data.tables import Table, listed
from pippin.errors import PippinError

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True)
class _Rows:
    """Rows of cells (the first names the columns), the line on which each begins, and what ended the reading early."""

    cells: list[list[str]]
    lines: list[int]
    fault: str | None = None

    @property
    def even(self) -> bool:
        """Whether every row has as many cells as the first."""
        return len({len(row) for row in self.cells}) == 1


def parse_delimited(text: str, origin: str, suffix: str) -> Table:
    """Every cell as a string. Rows with too many or too few fields and open quotes are errors with their line."""
    delimiter = _find_delimiter(text, suffix)
    if suffix == ".txt" and delimiter != "\t":
        raise PippinError(
            f"{origin}: a .txt file is read only when tabs separate its columns, and its first line has none. "
            "Save it as .csv, .tsv or .jsonl with a text and a label in each row."
        )
    expected = "," if suffix == ".csv" else "\t"
    notes = () if delimiter == expected else (f"{origin}: fields are separated by {_DELIMITERS[delimiter]}.",)
    rows = _tabbed(text) if delimiter == "\t" else _quoted(text, delimiter)
    if rows.fault:
        raise PippinError(f"{origin}, {rows.fault}")
    names = _column_names(rows.cells[0], origin)
    _check_rows(rows, names, delimiter, origin)
    columns = zip(*rows.cells[1:], strict=True) if len(rows.cells) > 1 else ([] for _ in names)
    return Table(dict(zip(names, map(list, columns), strict=True)), origin, notes=notes, lines=rows.lines[1:])


def _find_delimiter(text: str, suffix: str) -> str:
    """The one most used in the first line. Where it has none, the one that the suffix promises."""
    header = next(line for line in text.split("\n") if line.strip())
    counts = Counter(re.sub(r'"[^"]*"', "", header))
    usual = "," if suffix == ".csv" else "\t"
    if suffix != ".csv" and counts["\t"]:
        return "\t"
    return max([usual, *_DELIMITERS], key=lambda delimiter: counts[delimiter])


def _quoted(text: str, delimiter: str) -> _Rows:
    """Rows whose cells may stand in double quotes, and then hold delimiters and line ends."""
    csv.field_size_limit(2**31 - 1)  # a text may be megabytes; the default stops at 128 KiB
    reader = csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter, strict=True)
    cells: list[list[str]] = []
    lines: list[int] = []
    line = 1
    try:
        for row in reader:
            cells.append(row)
            lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        return _Rows(cells, lines, _explain(error, line))
    return _without_blanks(cells, lines)


def _explain(error: csv.Error, line: int) -> str:
    if "new-line character" in str(error):
        return f"line {line}: a carriage return stands inside a cell. Put that text in double quotes, or take it out."
    if "NUL" in str(error):
        return f"line {line}: a cell holds a NUL byte. Take it out."
    return (
        f"line {line}: a double quote is opened and not closed properly ({error}). "
        'Close it, or write a quote inside a text as "".'
    )


def _tabbed(text: str) -> _Rows:
    """Rows of a TSV. Some quote as CSV does; in many a quote is a part of the text, also at a cell's start."""
    lines = text.split("\n")
    bare = _without_blanks([line.rstrip("\r").split("\t") for line in lines], list(range(1, len(lines) + 1)))
    if '"' not in text or not any(cell.startswith('"') for row in bare.cells for cell in row):
        return bare
    quoted = _quoted(text, "\t")
    if quoted.fault or not quoted.even:
        return bare
    # Where each line is a whole row already, a quoted cell over several lines would swallow rows.
    spans = len(quoted.cells) != len(bare.cells) or any("\t" in cell for row in quoted.cells for cell in row)
    return bare if bare.even and spans else quoted


def _without_blanks(cells: list[list[str]], lines: list[int]) -> _Rows:
    """Blank lines are no rows. In a file of one column those between rows are empty cells, and stay."""
    filled = [place for place, row in enumerate(cells) if len(row) > 1 or (row and row[0].strip())]
    if filled and len(cells[filled[0]]) == 1:
        rows = range(filled[0], filled[-1] + 1)
        return _Rows([cells[place] or [""] for place in rows], [lines[place] for place in rows])
    return _Rows([cells[place] for place in filled], [lines[place] for place in filled])


def _column_names(header: list[str], origin: str) -> list[str]:
    names = [name.strip() or f"unnamed {place}" for place, name in enumerate(header, 1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise PippinError(f"{origin}: the column name {listed(twice)} stands twice in the first line. Rename one.")
    return names


def _check_rows(rows: _Rows, names: list[str], delimiter: str, origin: str) -> None:
    wrong = [place for place, row in enumerate(rows.cells) if len(row) != len(names)]
    if wrong:
        shown = "; ".join(
            f"row {place} (line {rows.lines[place]}) has {len(rows.cells[place])}: "
            f"{delimiter.join(rows.cells[place])[:60]!r}"
            for place in wrong[:3]
        )
        more = f"; and {len(wrong) - 3} rows more" if len(wrong) > 3 else ""
        raise PippinError(
            f"{origin}: the first line names {len(names)} columns ({listed(names)}), but {shown}{more}. "
            "Fill in what is missing, and put texts that hold the separator in double quotes."
        )
    repeated = next((place for place, row in enumerate(rows.cells[1:], 1) if row == rows.cells[0]), None)
    if repeated and len(names) > 1:
        raise PippinError(
            f"{origin}, row {repeated} (line {rows.lines[repeated]}) repeats the column names {listed(names)}. "
            "Were two files joined? Take the line out."
        )
    refuse_swallowed_rows(rows.cells, rows.lines, delimiter, origin)
