"""One process at a time in a run's folder. The system takes the lock away from a process that dies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pippin.errors import PippinError

NAME = ".pippin-lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Refuse a folder in which another process is at work. A folder that stays empty goes again."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = _acquire(folder)
    try:
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        (folder / NAME).unlink(missing_ok=True)  # while it is ours
        os.close(handle)
        if not any(folder.iterdir()):
            folder.rmdir()


def _acquire(folder: Path) -> int:
    import fcntl

    while True:
        handle = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(handle, 32).decode(errors="replace").strip()
            os.close(handle)
            process = f" (process {owner})" if owner.isdigit() else ""
            raise PippinError(
                f"{folder} is in use by another run{process}. Wait for it, or name another --output_dir."
            ) from None
        # Its last owner may have removed the file between the two calls: then this lock is of no use to anybody.
        try:
            if os.fstat(handle).st_ino == os.stat(folder / NAME).st_ino:
                os.ftruncate(handle, 0)
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)
