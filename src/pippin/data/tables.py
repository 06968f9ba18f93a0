"""One file of rows, read into columns, whole or some rows at a time. Nothing here touches the network.

A file of any size is looked through once when it is opened, so its mistakes are found before any work is done.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from pippin.data.chunks import in_chunks
from pippin.data.kinds import CONLL_KINDS, KINDS, TEXT_KINDS, is_rows, kind_of
from pippin.data.text_files import text_blocks
from pippin.errors import PippinError, nearest, shown
from pippin.plain_files import odd_kind

#: Characters of a column's name.
_LONGEST_NAME = 500


#: None: a file's first line names its columns. Else all its lines are rows: their columns have these names, or numbers.
Header = tuple[str, ...] | None


@dataclass(frozen=True)
class Table:
    """Columns of equal length, and where they came from. Row 1 is the first row of data."""

    columns: dict[str, list[Any]]
    origin: str
    class_names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the classes of integer-coded columns, where the file carries them."""
    notes: tuple[str, ...] = ()
    lines: Sequence[int] = ()
    """The line of the file on which each row begins, for files that have lines."""
    shards: tuple[tuple[str, int], ...] = ()
    """File and number of rows of each part, when the table is joined from several."""
    first: int = 0
    """Place in the file (from 0) of the first row here."""

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def head(self, count: int | None) -> Table:
        """The first rows, or all of them for None."""
        if count is None or count >= len(self):
            return self
        return replace(self, columns={name: values[:count] for name, values in self.columns.items()})

    def only(self, names: Collection[str]) -> Table:
        """The columns of these names, as far as there are any: the others take up room."""
        return replace(self, columns={name: values for name, values in self.columns.items() if name in names})

    def file_of(self, place: int) -> str:
        """The file that the row at a place (from 0) stands in."""
        return self._locate(place)[0]

    def row_name(self, place: int) -> str:
        """How to call the row at a place (from 0) in a message: `row 3 (line 4)`."""
        line = f" (line {self.lines[place]})" if self.lines else ""
        return f"row {self._locate(place)[1] + 1}{line}"

    def where(self, place: int) -> str:
        """File and row of a place: `reviews.csv, row 3 (line 4)`."""
        return f"{self.file_of(place)}, {self.row_name(place)}"

    def _locate(self, place: int) -> tuple[str, int]:
        place += self.first
        for origin, count in self.shards:
            if place < count:
                return origin, place
            place -= count
        return self.origin, place


@dataclass(frozen=True)
class TableStream:
    """Rows that come as one table after another, in order."""

    origin: str
    names: tuple[str, ...]
    """The columns of every table."""
    parts: Callable[[], Iterator[Table]]
    rows: int | None = None
    """How many rows there are, where that is known before they are read."""
    notes: tuple[str, ...] = ()
    """How the file was read, where that could have been meant otherwise."""
    has_names: bool = True
    """Whether the names of the columns are the file's own; else they are `text` and `label`."""
    is_conll: bool = False
    """Whether each line of the file is a word."""

    def whole(self) -> Table:
        """All rows as one table."""
        parts = self.parts()
        first = next(parts, None)
        if first is None:
            raise PippinError(f"{self.origin} promises {self.rows} rows, and holds none. Is it damaged? Get it anew.")
        columns: dict[str, list[Any]] = {name: [] for name in self.names}
        known: dict[str, dict[Any, Any]] = {name: {} for name in self.names}
        lines = array("q")
        for part in chain([first], parts):
            for name, column in columns.items():
                column += _shared(part.columns[name], known[name])
            lines.extend(part.lines)
        return replace(first, columns=columns, lines=lines, notes=self.notes)


def _shared(cells: list[Any], known: dict[Any, Any]) -> list[Any]:
    """The same cells; where they repeat, as labels do, equal texts as one, which takes up the room of one."""
    if not all(type(cell) is str for cell in cells) or len(set(cells)) > len(cells) / 2:
        return cells
    return [known.setdefault(cell, cell) for cell in cells]


def read_table(path: Path, encoding: str = "utf-8", lines_are_texts: bool = False, header: Header = None) -> Table:
    """Read a file of rows; its name tells the kind. ``lines_are_texts``: a .txt file needs no labels."""
    return open_table(path, encoding, lines_are_texts, header).whole()


def open_table(
    path: Path, encoding: str = "utf-8", lines_are_texts: bool = False, header: Header = None
) -> TableStream:
    """Look through such a file, to read it some rows at a time."""
    _check_readable(path)
    stream = _opened(path, encoding, lines_are_texts, header)
    long = next((name for name in stream.names if len(name) > _LONGEST_NAME), None)
    if long is not None:
        raise PippinError(
            f"{path}: {shown(long)} is the name of a column, and has {len(long)} characters. "
            "Is a row of data in its place?"
        )
    if not stream.rows or not stream.names:
        raise PippinError(
            f"{path} has no rows: only column names ({listed(stream.names) or 'none'}). Give a file with rows of data."
        )
    return stream


def _opened(path: Path, encoding: str, lines_are_texts: bool, header: Header) -> TableStream:
    kind, origin = kind_of(path), str(path)

    def blocks() -> Iterator[str]:
        return text_blocks(path, encoding)

    if kind in CONLL_KINDS or (kind in (".txt", ".tsv") and _is_conll(blocks)):
        from pippin.data.conll_files import open_conll

        return open_conll(blocks, origin, header)
    if header is not None and kind not in (".csv", ".tsv"):
        flag = "--column_names" if header else "--no_header"
        raise PippinError(f"{path}: {flag} is for CSV, TSV and CoNLL files. Leave it out.")
    if kind in (".csv", ".tsv"):
        from pippin.data.delimited import open_delimited

        return open_delimited(blocks, origin, kind, header)
    if kind == ".txt":
        from pippin.data.text_lines import open_text

        return open_text(blocks, origin, lines_are_texts)
    if kind == ".xlsx":
        from pippin.data.excel_files import open_excel

        return open_excel(path)
    if kind == ".parquet":
        from pippin.data.parquet_files import open_parquet

        return open_parquet(path)
    from pippin.data.json_files import open_json

    return open_json(blocks, origin)


def _is_conll(blocks: Callable[[], Iterator[str]]) -> bool:
    from pippin.data.conll_files import looks_like_conll

    try:
        return looks_like_conll(blocks())
    except PippinError:  # the reader that it is left to says what is wrong
        return False


def stream_of(table: Table) -> TableStream:
    """A table that is in memory already, some rows at a time."""

    def parts() -> Iterator[Table]:
        rows = zip(*table.columns.values(), strict=True)
        for first, chunk in in_chunks(rows, characters):
            yield replace(
                table,
                columns=columns_of(table.columns, chunk),
                lines=table.lines[first : first + len(chunk)],
                first=first,
            )

    return TableStream(table.origin, tuple(table.columns), parts, len(table))


def header_of(names: tuple[str, ...], no_header: bool) -> Header:
    """What --column_names and --no_header say together."""
    return names if names or no_header else None


def column_names(header: Iterable[str], origin: str) -> list[str]:
    """The names in a file's first line, each once."""
    names = [name.strip() or f"unnamed {place}" for place, name in enumerate(header, 1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise PippinError(f"{origin}: the first line has the column name {listed(twice)} twice. Rename one.")
    return names


def columns_of(names: Iterable[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    """Rows of cells, at least one, as columns."""
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def characters(cells: Iterable[Any]) -> int:
    """How long the texts of a row are."""
    return sum(len(cell) for cell in cells if isinstance(cell, str))


def join_tables(tables: list[Table]) -> Table:
    """The rows of several files (the shards of a split) as one table."""
    first = tables[0]
    if len(tables) == 1:
        return first
    for other in tables[1:]:
        if other.columns.keys() != first.columns.keys():
            raise PippinError(
                f"{other.origin} has the columns {listed(other.columns)}, "
                f"but {first.origin} has {listed(first.columns)}. Files of one split must agree."
            )
        if other.class_names != first.class_names:
            raise PippinError(
                f"{other.origin} and {first.origin} name their classes differently. Files of one split must agree."
            )
    columns = {name: list(chain(*(table.columns[name] for table in tables))) for name in first.columns}
    return Table(
        columns,
        first.origin,
        first.class_names,
        tuple(dict.fromkeys(note for table in tables for note in table.notes)),
        array("q", chain(*(table.lines for table in tables))),
        tuple((table.origin, len(table)) for table in tables),
    )


def listed(names: Iterable[str], most: int = 12) -> str:
    """Names for a message, cut short where a file has hundreds of columns.

    >>> listed(["id", "text", "label"], most=2)
    'id, text and 1 more'
    """
    shown = list(names)
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(name[:60] for name in shown[:most]) + more


def _check_readable(path: Path) -> None:
    if path.is_symlink() and not path.exists():
        raise PippinError(f"{path} is a link that leads to no file ({os.readlink(path)}). Name the file itself.")
    if not path.exists():
        here = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        # An ending that they have in common makes no names alike.
        alike = [name for name in here if Path(name).stem == path.stem or nearest(path.stem, [Path(name).stem])]
        raise PippinError(f"{path}: there is no such file.{nearest(path.name, alike)}")
    if path.is_dir():
        raise PippinError(f"{path} is a folder; name a file in it, such as {path / 'train.csv'}.")
    kind = odd_kind(path)
    if kind is not None:  # also one that somebody else put into a folder of rows
        raise PippinError(
            f"{path} is {kind}, and files of rows are read more than once. Save the rows to a plain file."
        )
    if not is_rows(path):
        kind = "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:])
        raise PippinError(
            f"{path}: Pippin does not read {kind or 'files without a suffix'}. Use {', '.join(KINDS)}, or a text file "
            f"packed by gzip ({TEXT_KINDS[0]}.gz). Unpack other archives first."
        )
