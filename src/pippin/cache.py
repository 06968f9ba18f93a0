"""A cache by content: plain arrays, kept under the hash of all that they were made from.

An entry is a folder of .npy files beside a record of their checksums, which has one of its own. It is filled under a
temporary name and renamed, so that it is there whole or not at all, whoever else writes it. Nothing here is ever
needed: what is missing, damaged, switched off or finds no room on the disk is made again. Where it lies: PIPPIN_CACHE,
which may also be "off", else the system's own place.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from pippin.plain_files import read_json

VARIABLE = "PIPPIN_CACHE"
#: The most that all entries may take. Beyond it those that were used longest ago go.
LIMIT_BYTES = 8 << 30
#: What a new entry must leave free on the disk.
_SPARE_BYTES = 1 << 30
#: Arrays from this size on are mapped into memory rather than read.
_MAPPED_BYTES = 1 << 20
_RECORD, _ENTRIES, _UNFINISHED = "record.json", "entries-2", ".unfinished-"
_ABANDONED_SECONDS = 24 * 3600
_CHECKED_AT_A_TIME = 16 << 20


def folder() -> Path | None:
    """Where entries lie; None where the cache is switched off."""
    said = os.environ.get(VARIABLE, "")
    if said.strip().lower() == "off":
        return None
    return (Path(said).expanduser() if said else _system_folder() / "pippin") / _ENTRIES


def key_of(*parts: bytes | str | int | None) -> str:
    """One name for all that an entry depends on. Parts do not run into each other."""
    digest = hashlib.sha256()
    for part in parts:
        content = part if isinstance(part, bytes) else str(part).encode(errors="surrogatepass")
        digest.update(f"{type(part).__name__} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


def get(key: str) -> dict[str, np.ndarray] | None:
    """The arrays of an entry, or None. Large ones are mapped; changing them changes no file."""
    home = folder()
    if home is None:
        return None
    entry = home / key
    try:
        record = read_json(entry / _RECORD)
        if not record["files"] or record["sum"] != _sum_of(record["files"]):
            raise ValueError(f"{entry} is damaged")
        arrays = {name: _read(entry / f"{name}.npy", crc) for name, crc in record["files"].items()}
        os.utime(entry / _RECORD)  # used now: others go before it
    except FileNotFoundError:
        return None
    except Exception:  # damaged files raise of every kind
        _remove(entry)
        return None
    return arrays


def put(key: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Keep arrays under this key, in the place of what was there."""
    with writing(key, {name: (array.shape, array.dtype) for name, array in arrays.items()}) as places:
        if places is not None:
            for name, array in arrays.items():
                places[name][...] = array


@contextmanager
def writing(key: str, shapes: Mapping[str, tuple[tuple[int, ...], Any]]) -> Iterator[dict[str, np.ndarray] | None]:
    """Arrays of these shapes and types to fill, little by little, on disk; None where nothing can be kept.

    The entry appears when the block ends well. The arrays are for the block alone: afterwards ``get`` it.
    """
    home = folder()
    unfinished = _make_room(home, shapes) if home is not None else None
    if home is None or unfinished is None:
        yield None
        return
    try:
        arrays = {name: _create(unfinished / f"{name}.npy", *shape) for name, shape in shapes.items()}
    except OSError:  # no room after all
        shutil.rmtree(unfinished, ignore_errors=True)
        yield None
        return
    try:
        yield arrays
        for array in arrays.values():
            if isinstance(array, np.memmap):
                array.flush()
        arrays.clear()  # some systems rename nothing that is mapped
        _finish(unfinished, home / key)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    _trim(home, keep=key)


def _system_folder() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _make_room(home: Path, shapes: Mapping[str, tuple[tuple[int, ...], Any]]) -> Path | None:
    """An empty folder for an entry; None where it would not fit or nothing can be written."""
    needed = sum(_bytes(*shape) for shape in shapes.values())
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)  # tokens are the user's texts
        if needed > LIMIT_BYTES or shutil.disk_usage(home).free < needed + _SPARE_BYTES:
            return None
        return Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=home))
    except OSError:
        return None


def _create(path: Path, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """A new .npy file, mapped. Its place on the disk is taken at once: a full disk would end the process later."""
    if not _bytes(shape, dtype):
        np.save(path, np.empty(shape, dtype))
        return np.empty(shape, dtype)
    array = np.lib.format.open_memmap(path, "w+", np.dtype(dtype), shape)
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


def _read(path: Path, crc: int) -> np.ndarray:
    if checksum(path) != crc:
        raise ValueError(f"{path} is damaged")
    mapped = path.stat().st_size >= _MAPPED_BYTES
    return np.load(path, mmap_mode="c" if mapped else None, allow_pickle=False)


def checksum(path: Path) -> int:
    """Of the whole file: a changed header would give other arrays of the same bytes."""
    crc = 0
    with path.open("rb") as file:
        while block := file.read(_CHECKED_AT_A_TIME):
            crc = zlib.crc32(block, crc)
    return crc


def _sum_of(files: dict[str, int]) -> int:
    return zlib.crc32(json.dumps(files, sort_keys=True).encode())


def _finish(unfinished: Path, entry: Path) -> None:
    """Put a filled folder in its place. Where another process is quicker, its entry holds the same."""
    with suppress(OSError):
        files = {path.stem: checksum(path) for path in unfinished.glob("*.npy")}
        (unfinished / _RECORD).write_text(json.dumps({"files": files, "sum": _sum_of(files)}))
        _remove(entry)
        unfinished.rename(entry)


def _remove(entry: Path) -> None:
    """Take an entry away, for everybody at once."""
    grave = entry.with_name(_UNFINISHED + uuid4().hex)
    with suppress(OSError):
        entry.rename(grave)
    shutil.rmtree(grave, ignore_errors=True)


def _trim(home: Path, keep: str) -> None:
    """Remove what others left unfinished long ago, then the entries used longest ago, down to the limit."""
    entries = []
    for path in home.iterdir():
        try:
            if path.name.startswith(_UNFINISHED):
                if path.stat().st_mtime < time.time() - _ABANDONED_SECONDS:
                    shutil.rmtree(path, ignore_errors=True)
                continue
            size = sum(file.stat().st_size for file in path.iterdir())
            entries.append(((path / _RECORD).stat().st_mtime_ns, size, path))
        except OSError:  # another process was here
            continue
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= LIMIT_BYTES:
            return
        if path.name != keep:
            _remove(path)
            total -= size


def _bytes(shape: tuple[int, ...], dtype: Any) -> int:
    return int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
