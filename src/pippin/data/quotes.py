"""A quote that was never meant as one can swallow rows and still parse. Here such cells are found."""

from __future__ import annotations

from pippin.errors import PippinError


def refuse_swallowed_rows(cells: list[list[str]], lines: list[int], delimiter: str, origin: str) -> None:
    """Stop at a quoted cell whose lines look like rows of this very file.

    `"Good, they said,pos` opens a quote by mistake, and a later `so bad",neg` closes it: the rows in between become
    one text. Such a cell's lines have as many fields as a row, with the file's own classes where the label stands.
    """
    long_rows = [place for place, row in enumerate(cells) if place and any("\n" in cell for cell in row)]
    if not long_rows:
        return
    classes = _class_like_columns([row for row in cells[1:] if not any("\n" in cell for cell in row)])
    for place in long_rows:
        for column, cell in enumerate(cells[place]):
            if "\n" in cell and _looks_like_rows(cell, column, len(cells[0]), delimiter, classes):
                last = lines[place] + cell.count("\n")
                raise PippinError(
                    f"{origin}, line {lines[place]}: a double quote opens a text that runs to line {last} and holds "
                    f'what look like rows of the file ({cell[:60]!r}). Close the quote, or write it as ""; '
                    "if the text is right, save the file as .jsonl."
                )


def _class_like_columns(rows: list[list[str]]) -> dict[int, set[str]]:
    """The different values of each column that has few of them."""
    found = {}
    for column, values in enumerate(zip(*rows, strict=True)):
        distinct = set(values)
        if 2 <= len(distinct) <= max(2, len(rows) // 2):
            found[column] = distinct
    return found


def _looks_like_rows(cell: str, column: int, width: int, delimiter: str, classes: dict[int, set[str]]) -> bool:
    first, *middle, last = (line.rstrip("\r").split(delimiter) for line in cell.split("\n"))
    if len(first) != width - column or any(len(fields) != width for fields in middle) or len(last) != column + 1:
        return False
    if len(middle) >= 4 and _class_like_columns(middle):
        return True
    # The cell's own column is cut off at both ends, so it tells nothing.
    placed = [*zip(range(column + 1, width), first[1:], strict=True), *zip(range(column), last, strict=False)]
    placed += [pair for fields in middle for pair in enumerate(fields)]
    known = [value in classes[place] for place, value in placed if place in classes]
    return bool(known) and all(known)
