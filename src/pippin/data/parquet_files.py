"""Parquet files, and the class names that the package `datasets` keeps in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pippin.data.tables import Table
from pippin.data.text_files import refuse_foreign
from pippin.errors import PippinError

#: Up to so many bytes a file may unfold to, whatever its size; beyond, to so many times its size.
_ALWAYS_FINE, _MOST_TIMES = 2**28, 200
_ROWS_AT_A_TIME = 256


def read_parquet(path: Path) -> Table:
    """All columns of one file as Python values."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    refuse_foreign(path, accepted=b"PAR1")
    try:
        table = _unfold(parquet.ParquetFile(path), path)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise PippinError(
            f"{path} is not a readable Parquet file ({reason}). Was its download or its writing cut short?"
        ) from None
    names = table.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PippinError(f"{path}: the column name {', '.join(twice)} stands twice. Rename one.")
    columns = {name: _values(table.column(name), name, path) for name in names}
    return Table(columns, str(path), _class_names(table.schema.metadata or {}))


def _unfold(file: Any, path: Path) -> Any:
    """All rows, few at a time, so that a small file that unfolds to fill the memory is seen in time."""
    import pyarrow as pa

    most, held, batches = max(_ALWAYS_FINE, _MOST_TIMES * path.stat().st_size), 0, []
    for batch in file.iter_batches(batch_size=_ROWS_AT_A_TIME):
        held += batch.nbytes
        if held > most:
            raise PippinError(
                f"{path} unfolds to more than {_MOST_TIMES} times its size ({path.stat().st_size:,} bytes), as no file "
                "of texts does. It is not read. If it is meant, save it as .jsonl."
            )
        batches.append(batch)
    return pa.Table.from_batches(batches, file.schema_arrow)


def _values(column: Any, name: str, path: Path) -> list[Any]:
    try:
        return column.to_pylist()
    except UnicodeDecodeError:
        row = next(place for place, value in enumerate(column, 1) if not _is_readable(value))
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
    try:
        features = json.loads(metadata[b"huggingface"])["info"]["features"]
    except (KeyError, ValueError, TypeError):
        return {}
    return {name: tuple(kind["names"]) for name, kind in features.items() if isinstance(kind, dict) and "names" in kind}
