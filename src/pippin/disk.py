"""Plain words for a disk that refuses."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pippin.errors import PippinError
from pippin.text import memory

RESUME = "go on with --resume: what was saved before is whole"


@contextmanager
def disk_words(path: Path, needed: int | None = None, then: str = RESUME) -> Iterator[None]:
    """A disk that is full or broken, as one message that names it, the path, what is needed, free, and to be done."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
            raise
        raise PippinError(trouble(path, os.strerror(error.errno or 0), needed, then)) from error
    except Exception as error:
        if isinstance(error, PippinError) or "(os error " not in str(error):  # safetensors' own words for the same
            raise
        raise PippinError(trouble(path, str(error).strip(), needed, then)) from error


def trouble(path: Path, what: str, needed: int | None, then: str = RESUME) -> str:
    """What to tell the user when a disk refuses."""
    wants = f"; {memory(needed)} are needed" if needed else ""
    return (
        f"{path} cannot be written: {what}. The disk has {memory(free_bytes(path))} free{wants}. "
        f"Free some room and {then}."
    )


def free_bytes(path: Path) -> int:
    """Free room on the disk of a path that may not exist yet."""
    nearest = next(parent for parent in [path, *path.absolute().parents] if parent.exists())
    return shutil.disk_usage(nearest).free
