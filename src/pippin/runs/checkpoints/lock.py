"""One process at a time in a run's folder. The system takes the lock away from a process that dies."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pippin.errors import PippinError
from pippin.files import open_to_append

#: A file to lock where the folder itself cannot be, as on some network disks.
NAME = ".pippin-lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Refuse a folder in which another process is at work. A folder that stays empty goes again."""
    handle = _acquire(folder)
    try:
        yield
    finally:
        (folder / NAME).unlink(missing_ok=True)  # while it is ours
        if not any(folder.iterdir()):
            folder.rmdir()
        os.close(handle)


def is_in_use(folder: Path) -> bool:
    """Whether a process is at work in a folder. A lock cannot be asked for its owner: it is taken and let go."""
    import fcntl

    for path in (folder, folder / NAME):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a disk on which folders have no locks
            pass
        finally:
            os.close(handle)
    return False


def _acquire(folder: Path) -> int:
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        handle, path = _lock(folder)
        # Its last owner may have removed it between the two calls: then this lock is of no use to anybody.
        try:
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)


def _lock(folder: Path) -> tuple[int, Path]:
    """The lock of the folder itself: unlike a file it leaves nothing behind when its owner is killed."""
    handle, path = os.open(folder, os.O_RDONLY), folder
    try:
        _flock(handle, folder)
    except OSError as error:
        os.close(handle)
        if error.errno not in (errno.EBADF, errno.EINVAL, errno.EISDIR, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP):
            raise
        path = folder / NAME
        handle = open_to_append(path)
        _flock(handle, folder)
    return handle, path


def _flock(handle: int, folder: Path) -> None:
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise PippinError(f"{folder} is in use by another run. Wait for it, or name another --output_dir.") from None
