"""Parquet files, and the class names that the package `datasets` keeps in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pippin.data.chunks import in_chunks
from pippin.data.packed import most_bytes, unfolds_too_far
from pippin.data.tables import Table, TableStream, characters, columns_of, listed
from pippin.data.text_files import refuse_foreign
from pippin.errors import PippinError
from pippin.plain_files import open_plain, parse_json

_ROWS_AT_A_TIME = 256
#: In the metadata of a file that Pippin keeps for Python: what its user calls these rows.
ORIGIN = b"pippin.origin"


def open_parquet(path: Path) -> TableStream:
    """All columns of one file as Python values."""
    refuse_foreign(path, accepted=b"PAR1")
    with _opened(path) as file:
        names, rows = file.schema_arrow.names, file.metadata.num_rows
        metadata = file.schema_arrow.metadata or {}
        class_names, origin = (
            _class_names(metadata),
            metadata.get(ORIGIN, b"")[:200].decode(errors="replace") or str(path),
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PippinError(f"{path}: the column name {listed(twice)} stands twice. Rename one.")

    def parts() -> Iterator[Table]:
        for first, chunk in in_chunks(_rows(path, names), characters):
            yield Table(columns_of(names, chunk), origin, class_names, first=first)

    return TableStream(origin, tuple(names), parts, rows)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    import pyarrow.parquet as parquet

    try:
        # By a handle, not by its name: pyarrow takes no name that is not UTF-8.
        with open_plain(path) as handle, parquet.ParquetFile(handle) as file:
            yield file
    except PippinError:
        raise
    except Exception as error:  # damaged files raise of every kind
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise PippinError(
            f"{path} is not a readable Parquet file ({reason}). Was its download or its writing cut short?"
        ) from None


def _rows(path: Path, names: list[str]) -> Iterator[tuple[Any, ...]]:
    """All rows, few at a time, so that a small file that unfolds to fill the memory is seen in time."""
    most, held, first = most_bytes(path), 0, 0
    with _opened(path) as file:
        for batch in file.iter_batches(batch_size=_ROWS_AT_A_TIME):
            held += batch.nbytes
            if held > most:
                raise unfolds_too_far(path, "save it as .jsonl")
            columns = [_values(batch.column(name), name, path, first) for name in names]
            yield from zip(*columns, strict=True)
            first += len(batch)


def _values(column: Any, name: str, path: Path, first: int) -> list[Any]:
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        row = next(place for place, value in enumerate(column, first + 1) if not _is_readable(value))
        raise PippinError(
            f"{path}, row {row}, column {name!r}: the text is not UTF-8. Is the file damaged? Write it anew."
        ) from None


def _is_readable(value: Any) -> bool:
    try:
        value.as_py()
    except UnicodeDecodeError:
        return False
    return True


def _class_names(metadata: dict[bytes, bytes]) -> dict[str, tuple[str, ...]]:
    """By column; anything else that stands in the metadata is somebody else's affair."""
    try:
        features = parse_json(metadata[b"huggingface"].decode())["info"]["features"]
        named = {name: kind["names"] for name, kind in map(_item_of_list, features.items()) if "names" in kind}
    except (KeyError, ValueError, TypeError, AttributeError):
        return {}
    return {
        name: tuple(names)
        for name, names in named.items()
        if isinstance(names, list) and all(isinstance(each, str) for each in names)
    }


def _item_of_list(feature: tuple[str, Any]) -> tuple[str, dict[str, Any]]:
    """A column's kind; of a column of lists, that of their items."""
    name, kind = feature
    inside = kind.get("feature", kind) if isinstance(kind, dict) else kind[0] if isinstance(kind, list) and kind else {}
    return name, inside if isinstance(inside, dict) else {}
