"""CSV and TSV text into columns of strings. What a cell means is decided later, by what the column is for."""

from __future__ import annotations

import csv
import io

from pippin.data.tables import Table
from pippin.errors import PippinError

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def parse_delimited(text: str, origin: str, tabs: bool) -> Table:
    """Every cell as a string. Rows with too many or too few fields and open quotes are errors with their row."""
    header_line = text.lstrip("\r\n").splitlines()[0]
    delimiter = "\t" if tabs else max(_DELIMITERS, key=header_line.count)
    notes = () if tabs or delimiter == "," else (f"{origin}: fields are separated by {_DELIMITERS[delimiter]}.",)
    if tabs and not _tabs_are_quoted(text):
        columns = _parse(text, delimiter, origin, quoted=False)
    else:
        columns = _parse(text, delimiter, origin, quoted=True)
        if any("\n" in cell for cells in columns.values() for cell in cells):
            _check_quotes(text, delimiter, origin)
    return Table(columns, origin, notes=notes)


def _parse(text: str, delimiter: str, origin: str, quoted: bool) -> dict[str, list[str]]:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    names = _column_names(text, delimiter, origin, quoted)
    bad_rows: list[str] = []

    def note_bad_row(row: arrow_csv.InvalidRow) -> str:
        bad_rows.append(f"row {row.number - 1} has {row.actual_columns} fields: {row.text[:60]!r}")
        return "skip"

    try:
        table = arrow_csv.read_csv(
            io.BytesIO(text.encode("utf-8", "surrogatepass")),
            # One thread and one block: only so does pyarrow number the rows that it finds wrong.
            read_options=arrow_csv.ReadOptions(
                use_threads=False, block_size=2**31 - 1, column_names=names, skip_rows=0
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoted else False,
                newlines_in_values=quoted,
                invalid_row_handler=note_bad_row,
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        if quoted:
            _check_quotes(text, delimiter, origin)
        raise PippinError(f"{origin} cannot be read: {str(error).splitlines()[0]}.") from None
    if bad_rows:
        if quoted:
            _check_quotes(text, delimiter, origin)
        more = f" (and {len(bad_rows) - 3} more)" if len(bad_rows) > 3 else ""
        raise PippinError(
            f"{origin}: the first line names {len(names)} columns, but {'; '.join(bad_rows[:3])}{more}. "
            "Put texts that hold the separator in double quotes."
        )
    return {name: table.column(name).to_pylist()[1:] for name in names}


def _column_names(text: str, delimiter: str, origin: str, quoted: bool) -> list[str]:
    lines = io.StringIO(text)
    header = (
        next(csv.reader(lines, delimiter=delimiter)) if quoted else lines.readline().rstrip("\r\n").split(delimiter)
    )
    names = [name.strip() or f"unnamed {place}" for place, name in enumerate(header, 1)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PippinError(f"{origin}: the column name {', '.join(twice)} stands twice in the first line. Rename one.")
    return names


def _check_quotes(text: str, delimiter: str, origin: str) -> None:
    """Name the line of a quote that was opened and not closed as it should be."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        for _ in reader:
            line = reader.line_num + 1
    except csv.Error as error:
        raise PippinError(
            f"{origin}, line {line}: a double quote is opened and not closed properly ({error}). "
            'Close it, or write a quote inside a text as "".'
        ) from None


def _tabs_are_quoted(text: str) -> bool:
    """Whether a TSV uses quotes as CSV does. Many hold bare quotes, which are then part of the text."""
    cells = [cell for line in text.splitlines() for cell in line.split("\t") if cell.startswith('"')]
    return bool(cells) and all(
        len(cell) >= 2 and cell.endswith('"') and '"' not in cell[1:-1].replace('""', "") for cell in cells
    )
