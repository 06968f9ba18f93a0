"""Rows from Python, kept as Parquet under the hash of their content.

From there on they are a file like any other: a run that is killed can be resumed when the process is long gone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin import cache
from pippin.data.parquet_files import ORIGIN
from pippin.errors import PippinError
from pippin.files import staging_folder

#: Rows that no job used for this long go, and the oldest of them where all take more than this.
_DAYS, _LIMIT_BYTES = 30, 8 << 30
#: Rows of a group in the file.
BATCH = 10_000


@dataclass(frozen=True)
class ArrowRows:
    """A table as Arrow has it, and what its user calls it."""

    origin: str
    schema: Any
    batches: Iterable[Any]


def store(tables: Mapping[str, ArrowRows]) -> tuple[Path, str]:
    """The folder that holds these files, and a note where it may not last."""
    home, lost = _home()
    try:
        entry = _write(home, tables)
    except OSError as error:
        raise PippinError(
            f"the rows cannot be kept in {home}: {error.strerror or error}. "
            f"Name a folder with room in the variable {cache.VARIABLE}."
        ) from None
    with suppress(OSError):  # another process was here
        _trim(home, keep=entry)
    return entry, f"{lost}: the rows are kept in {entry} until the system clears it." if lost else ""


def _home() -> tuple[Path, str]:
    """The folder of all kept rows, and why it is not in the cache where it is not."""
    entries = cache.folder()
    if entries is not None:
        home = entries.parent.absolute() / "rows"
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)  # they are the user's texts
            if os.access(home, os.W_OK | os.X_OK):
                return home, ""
        except OSError:
            pass
    why = f"{cache.VARIABLE} is off" if entries is None else f"{entries.parent} cannot be written"
    return Path(tempfile.mkdtemp(prefix="pippin-")), why


def _write(home: Path, tables: Mapping[str, ArrowRows]) -> Path:
    """The folder that holds these files, under the hash of what is in them."""
    import pyarrow.parquet as parquet

    staging = staging_folder(home, "rows")
    try:
        for file, rows in tables.items():
            (staging / file).parent.mkdir(exist_ok=True)
            schema = rows.schema.with_metadata({**(rows.schema.metadata or {}), ORIGIN: rows.origin})
            with parquet.ParquetWriter(staging / file, schema) as writer:
                for batch in rows.batches:
                    writer.write_table(batch.cast(schema), BATCH)
        entry = home / _digest(staging, tables)
        if not entry.is_dir() or _digest(entry, tables) != entry.name:
            shutil.rmtree(entry, ignore_errors=True)
            with suppress(OSError):  # another process was quicker
                staging.rename(entry)
        os.utime(entry)
        return entry
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _digest(folder: Path, files: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file}\0".encode())
        try:
            with (folder / file).open("rb") as handle:
                while block := handle.read(1 << 20):
                    digest.update(block)
        except FileNotFoundError:
            return ""
    return digest.hexdigest()[:32]


def _trim(home: Path, keep: Path) -> None:
    """Remove rows that were not used for long, then the oldest down to the limit; never those of the last day."""
    entries = sorted((path.stat().st_mtime, path) for path in home.iterdir() if path != keep)
    sizes = {path: sum(file.stat().st_size for file in path.rglob("*")) for _, path in entries}
    total = sum(sizes.values())
    for used, path in entries:
        days = (time.time() - used) / 86400
        if days > _DAYS or (days > 1 and total > _LIMIT_BYTES):
            shutil.rmtree(path, ignore_errors=True)
            total -= sizes[path]
