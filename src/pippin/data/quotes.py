"""A quote that was never meant as one can swallow rows and still parse. Here such cells are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from pippin.errors import PippinError

#: A column of more different values than this names no classes.
_MOST_VALUES = 10_000
#: After so many rows the columns that have too many values are put aside.
_ROWS_BETWEEN_LOOKS = 1000


def refuse_swallowed_rows(
    rows: Callable[[], Iterator[tuple[list[str], int, int]]], width: int, delimiter: str, origin: str
) -> None:
    """Stop at a quoted cell whose lines look like rows of this very file.

    `"Good, they said,pos` opens a quote by mistake, and a later `so bad",neg` closes it: the rows in between become
    one text. Such a cell's lines have as many fields as a row, with the file's own classes where the label stands.
    Rows (without the header, each with the lines on which it begins and ends) are read up to three times.
    """

    def suspects() -> Iterator[tuple[str, int, int]]:
        """Cells of several lines that have the shape of rows, with their column and the row's first line."""
        for cells, first, last in rows():
            if first == last:
                continue
            for column, cell in enumerate(cells):
                if "\n" in cell and _has_shape_of_rows(_fields(cell, delimiter), column, width):
                    yield cell, column, first

    if next(suspects(), None) is None:
        return
    classes = _class_like_columns(cells for cells, first, last in rows() if first == last)
    for cell, column, line in suspects():
        if _looks_like_rows(_fields(cell, delimiter), column, width, classes):
            raise PippinError(
                f"{origin}, line {line}: a double quote opens a text that runs to line {line + cell.count(chr(10))} "
                f'and holds what look like rows of the file ({cell[:60]!r}). Close the quote, or write it as ""; '
                "if the text is right, save the file as .jsonl."
            )


def _fields(cell: str, delimiter: str) -> list[list[str]]:
    """A cell's lines, cut as if they were rows."""
    return [line.rstrip("\r").split(delimiter) for line in cell.split("\n")]


def _class_like_columns(rows: Iterable[list[str]]) -> dict[int, set[str]]:
    """The different values of each column that has few of them."""
    found: dict[int, set[str]] = {}
    count = 0
    for count, cells in enumerate(rows, 1):
        if count == 1:
            found = {column: set() for column in range(len(cells))}
        for column, values in found.items():
            values.add(cells[column])
        if count % _ROWS_BETWEEN_LOOKS == 0:
            found = {column: values for column, values in found.items() if len(values) <= _MOST_VALUES}
    return {column: values for column, values in found.items() if 2 <= len(values) <= max(2, count // 2)}


def _has_shape_of_rows(lines: list[list[str]], column: int, width: int) -> bool:
    """Whether lines from the cell in a column on are one row's end, whole rows, and another's start."""
    first, *middle, last = lines
    return len(first) == width - column and len(last) == column + 1 and all(len(line) == width for line in middle)


def _looks_like_rows(lines: list[list[str]], column: int, width: int, classes: dict[int, set[str]]) -> bool:
    first, *middle, last = lines
    if len(middle) >= 4 and _class_like_columns(middle):
        return True
    # The cell's own column is cut off at both ends, so it tells nothing.
    placed = [*zip(range(column + 1, width), first[1:], strict=True), *zip(range(column), last, strict=False)]
    placed += [pair for fields in middle for pair in enumerate(fields)]
    known = [value in classes[place] for place, value in placed if place in classes]
    return bool(known) and all(known)
