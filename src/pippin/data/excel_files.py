"""Excel workbooks: the first sheet, its first row the names of the columns."""

from __future__ import annotations

import warnings
import zipfile
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any

from pippin.data.chunks import in_chunks
from pippin.data.packed import most_bytes, unfolds_too_far
from pippin.data.tables import Table, TableStream, characters, column_names, columns_of
from pippin.data.text_files import empty_file, refuse_foreign
from pippin.errors import PippinError, shown
from pippin.plain_files import open_plain

#: As many as a sheet can have; a file may promise more.
_MOST_ROWS = 1_048_576

#: A row's cells, and its number in the sheet.
Row = tuple[list[Any], int]


def open_excel(path: Path) -> TableStream:
    """The rows of the first sheet that is shown, as Python values."""
    refuse_foreign(path, accepted=b"PK\x03\x04")
    with _sheet(path) as (sheet, others):
        rows = _rows(sheet)
        header, _ = next(rows, ([], 0))
        if not header:
            raise empty_file(path)
        count = 0
        for count, (cells, number) in enumerate(rows, 1):
            if len(cells) > len(header):
                raise PippinError(
                    f"{path}, row {count} (line {number}) has {len(cells)} cells, but the first line names "
                    f"{len(header)} columns: {shown(cells[len(header) :])}. Name the others, or take them out."
                )
        notes = (f"{path} has {len(others) + 1} sheets; only the first, {sheet.title}, is read.",) if others else ()
    names = column_names([str(name or "") for name in header], str(path))

    def parts() -> Iterator[Table]:
        with _sheet(path) as (sheet, _):
            rows = _rows(sheet)
            next(rows)
            filled = ((cells + [None] * (len(names) - len(cells)), number) for cells, number in rows)
            for first, chunk in in_chunks(filled, lambda row: characters(row[0])):
                columns = columns_of(names, [cells for cells, _ in chunk])
                yield Table(columns, str(path), lines=array("q", (number for _, number in chunk)), first=first)

    return TableStream(str(path), tuple(names), parts, count, notes)


@contextmanager
def _sheet(path: Path) -> Iterator[tuple[Any, list[Any]]]:
    """The first sheet that is shown, and the others."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise PippinError(f"{path}: Excel files need the package openpyxl: pip install 'pippin[excel]'") from None
    try:
        with open_plain(path) as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and the like, which nobody needs here
            with zipfile.ZipFile(file) as archive:
                if sum(member.file_size for member in archive.infolist()) > most_bytes(path):
                    raise unfolds_too_far(path, "save the sheet as CSV (UTF-8)")
            book = load_workbook(file, read_only=True, data_only=True, keep_links=False)
            sheets = sorted(book.worksheets, key=lambda sheet: sheet.sheet_state != "visible")
            sheets[0].reset_dimensions()  # what it says of its own size may be wrong
            yield sheets[0], [sheet for sheet in sheets[1:] if sheet.sheet_state == "visible"]
    except PippinError:
        raise
    except Exception as error:  # damaged files raise of every kind
        reason = (str(error).splitlines() or [""])[0].rstrip(".") or type(error).__name__
        raise PippinError(
            f"{path} is not a readable Excel workbook ({reason[:200]}). Save it again as .xlsx, or as CSV (UTF-8)."
        ) from None


def _rows(sheet: Any) -> Iterator[Row]:
    """The rows that hold anything, each up to its last cell that does."""
    for number, raw in enumerate(sheet.iter_rows(max_row=_MOST_ROWS, values_only=True), 1):
        cells = [_value(cell) for cell in raw]
        while cells and (cells[-1] is None or (isinstance(cells[-1], str) and not cells[-1].strip())):
            cells.pop()
        if cells:
            yield cells, number


def _value(cell: Any) -> Any:
    """A cell as the other readers have it: a date as text, the error of a formula as nothing."""
    from openpyxl.cell.cell import ERROR_CODES

    if isinstance(cell, (date, time, timedelta)):
        return str(cell)
    return None if cell in ERROR_CODES else cell
