"""One file of rows, read into columns. Local files only; nothing here touches the network."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pippin.errors import PippinError

SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".parquet")


@dataclass(frozen=True)
class Table:
    """Columns of equal length, and where they came from. Row 1 is the first row of data."""

    columns: dict[str, list[Any]]
    origin: str
    class_names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the classes of integer-coded columns, where the file carries them."""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def head(self, count: int | None) -> Table:
        """The first rows, or all of them for None."""
        if count is None or count >= len(self):
            return self
        columns = {name: values[:count] for name, values in self.columns.items()}
        return Table(columns, self.origin, self.class_names, self.notes)


def read_table(path: Path, encoding: str = "utf-8") -> Table:
    """Read a CSV, TSV, JSON, JSONL or Parquet file; the suffix decides which."""
    _check_readable(path)
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv"):
        from pippin.data.delimited import parse_delimited

        table = parse_delimited(decode(path, encoding), str(path), tabs=suffix == ".tsv")
    elif suffix in (".json", ".jsonl"):
        from pippin.data.json_files import parse_json

        table = parse_json(decode(path, encoding), str(path))
    else:
        table = _read_parquet(path)
    if len(table) == 0:
        raise PippinError(f"{path} has no rows: only column names ({', '.join(table.columns) or 'none'}).")
    return table


def join_tables(tables: list[Table]) -> Table:
    """The rows of several files (the shards of a split) as one table."""
    first = tables[0]
    for other in tables[1:]:
        if other.columns.keys() != first.columns.keys():
            raise PippinError(
                f"{other.origin} has the columns {', '.join(other.columns)}, "
                f"but {first.origin} has {', '.join(first.columns)}. Files of one split must agree."
            )
    columns = {name: [value for table in tables for value in table.columns[name]] for name in first.columns}
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return Table(columns, first.origin, first.class_names, notes)


def decode(path: Path, encoding: str) -> str:
    """A text file's characters; a byte that is not of the encoding is reported with its line."""
    raw = path.read_bytes()
    if not raw.strip():
        raise PippinError(f"{path} is empty. Give a file with column names in its first line and rows below.")
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff") and encoding == "utf-8":
        raise PippinError(f"{path} is UTF-16 text. Add --encoding utf-16.")
    try:
        return raw.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except LookupError:
        raise PippinError(f"--encoding {encoding}: there is no such encoding. Try utf-8 or latin-1.") from None
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise PippinError(
            f"{path}, line {line}: byte 0x{raw[error.start]:02X} is not {encoding}. "
            "If the file came from Windows or an older program, add --encoding latin-1 (or cp1252); "
            "otherwise save it as UTF-8."
        ) from None


def _check_readable(path: Path) -> None:
    if not path.exists():
        here = [name.name for name in path.parent.iterdir()] if path.parent.is_dir() else []
        from pippin.errors import nearest

        raise PippinError(f"{path}: there is no such file.{nearest(path.name, here)}")
    if path.suffix.lower() not in SUFFIXES:
        raise PippinError(
            f"{path}: {path.suffix or 'a file without a suffix'} is not a kind of file that Pippin reads. "
            f"Use one of {', '.join(SUFFIXES)}; unpack archives first."
        )
    if not path.is_file():
        raise PippinError(f"{path} is a folder; name a file.")


def _read_parquet(path: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        table = parquet.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise PippinError(f"{path} is not a readable Parquet file ({str(error).splitlines()[0]}).") from None
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return Table(columns, str(path), _hub_class_names(table.schema.metadata or {}))


def _hub_class_names(metadata: dict[bytes, bytes]) -> dict[str, tuple[str, ...]]:
    """Class names that the package `datasets` keeps in a Parquet file's metadata."""
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
    except (KeyError, ValueError, TypeError):
        return {}
    return {name: tuple(kind["names"]) for name, kind in features.items() if kind and kind.get("names")}
