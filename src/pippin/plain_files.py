"""How Pippin reads a file that may be anybody's: only a plain one, only up to a size that can be meant, and JSON of any
shape as a value or a ValueError.

A FIFO waits for whoever writes into it, and a device may have no end: neither is ever opened.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

#: Bytes up to which a record, a configuration or a list of names is read; no real one comes near it.
LARGEST = 100 << 20
_NOT_WAITING = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
#: Where a shell puts what `<(command)` writes.
_OWN_PIPES = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
_KINDS: dict[str, Callable[[int], bool]] = {
    "a folder": stat.S_ISDIR,
    "a named pipe": stat.S_ISFIFO,
    "a socket": stat.S_ISSOCK,
    "a device": lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode),
}


def odd_kind(path: Path | str) -> str | None:
    """What a path is that is there and no plain file: a folder, a named pipe, a socket or a device."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return None
    return next((words for words, holds in _KINDS.items() if holds(mode)), None)


def is_utf_8(name: str) -> bool:
    """Whether a name is text: file systems take any bytes, and many libraries do not."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def open_plain(path: Path) -> IO[bytes]:
    """A plain file, open for reading; OSError for anything else, without waiting for it."""
    kind = odd_kind(path)
    if kind is not None:
        raise OSError(errno.EINVAL, f"it is {kind}, not a plain file", str(path))
    file = os.fdopen(os.open(path, os.O_RDONLY | _NOT_WAITING), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # it was another a moment ago
        file.close()
        raise OSError(errno.EINVAL, "it is not a plain file", str(path))
    return file


def read_text(path: Path, most: int = LARGEST, own_pipes: bool = False) -> str:
    """The whole of a small file of UTF-8; OSError where it is none, or is larger than any real one.

    ``own_pipes``: a pipe that the shell gave to this very process is read too: somebody is at its other end.
    """
    is_own = own_pipes and str(path).startswith(_OWN_PIPES)
    with path.open("rb") if is_own else open_plain(path) as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most >> 10:,} KB, as no such file is", str(path))
    return raw.decode("utf-8")


def read_json(path: Path, most: int = LARGEST) -> Any:
    """What a small file of JSON holds. Nothing but OSError and ValueError is raised."""
    return parse_json(read_text(path, most))


def parse_json(text: str, **settings: Any) -> Any:
    """What a text holds, as ``json.loads`` has it. Nothing but ValueError is raised."""
    try:
        return json.loads(text, **settings)
    except RecursionError:
        raise ValueError("brackets within brackets, thousands deep") from None
    except ValueError as error:
        if type(error) is not ValueError:  # of the decoder, or of a hook
            raise
        raise ValueError("a whole number of thousands of digits") from None  # Python reads none: it takes forever
