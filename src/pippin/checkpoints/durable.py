"""Files that are still there after a crash or a power cut, and plain words for a disk that refuses."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pippin.errors import PippinError
from pippin.machine.check import gigabytes


def write_text(path: Path, text: str) -> None:
    """Write a small file so that it appears whole or not at all, and survives a power cut."""
    replace_text(path, text, synced=True)
    sync(path.parent)


def replace_text(path: Path, text: str, synced: bool = False) -> None:
    """Write a file so that nobody ever sees half of it; a power cut may take it back."""
    partial = path.with_name(partial_name(path.name))
    try:
        partial.write_text(text, encoding="utf-8")
        if synced:
            sync(partial)
        os.replace(partial, path)
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def partial_name(name: str) -> str:
    """What a file is called while it is being written."""
    return f".{name}.partial"


def sync(path: Path) -> None:
    """Wait until a file, or a folder's list of names, is on the disk itself."""
    handle = os.open(path, os.O_RDONLY)
    try:
        full = _full_sync()
        if full is not None and path.is_file():
            full(handle)
        else:
            os.fsync(handle)
    finally:
        os.close(handle)


def _full_sync() -> Callable[[int], object] | None:
    """macOS's fsync leaves the bytes in the drive's own cache; F_FULLFSYNC does not. None on other systems."""
    import fcntl

    command = getattr(fcntl, "F_FULLFSYNC", None)
    return None if command is None else lambda handle: fcntl.fcntl(handle, command)


@contextmanager
def disk_words(path: Path, needed: int | None = None) -> Iterator[None]:
    """A disk that is full or broken, as one message that names it, the path, what is needed and what is free."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
            raise
        raise PippinError(trouble(path, os.strerror(error.errno or 0), needed)) from error
    except Exception as error:
        if "(os error " not in str(error):  # safetensors' own words for the same
            raise
        raise PippinError(trouble(path, str(error).strip(), needed)) from error


def trouble(path: Path, what: str, needed: int | None) -> str:
    """What to tell the user when a disk refuses."""
    wants = f"; {gigabytes(needed)} are needed" if needed else ""
    return (
        f"{path} cannot be written: {what}. The disk has {gigabytes(free_bytes(path))} free{wants}. Free some room and "
        "go on with --resume: what was saved before is whole."
    )


def free_bytes(path: Path) -> int:
    """Free room on the disk of a path that may not exist yet."""
    nearest = next(parent for parent in [path, *path.absolute().parents] if parent.exists())
    return shutil.disk_usage(nearest).free
