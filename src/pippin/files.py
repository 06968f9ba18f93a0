"""The one way that Pippin writes. A file appears whole under its name, and nothing is written through a link.

New content goes into a file or folder of an unguessable name, made exclusively, and is renamed when it is complete:
a rename replaces whatever stands under the name (a link, a hard link, a FIFO) and touches nothing behind it.
"""

from __future__ import annotations

import itertools
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from pippin.errors import PippinError

_STAGING_NAME = re.compile(r"\.pippin-[\w.-]+-[0-9a-f]{16}\.partial", re.ASCII)
#: Never through a link, and never waiting for somebody at the other end of a FIFO.
_NOT_THROUGH = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def write_text(path: Path, text: str) -> None:
    """Write a small file so that it appears whole or not at all, and survives a power cut."""
    replace_text(path, text, synced=True)
    sync(path.parent)


def replace_text(path: Path, text: str, synced: bool = False) -> None:
    """Write a file so that nobody ever sees half of it; a power cut may take it back."""
    with staged_file(path, synced=synced) as file:
        file.write(to_bytes(text))


def to_bytes(text: str) -> bytes:
    """In UTF-8, which has no place for half a character: that becomes its escape, as JSON writes it."""
    return text.encode("utf-8", "backslashreplace")


def write_new_text(path: Path, text: str) -> Path:
    """Write a file and replace none: where the name is taken, a number is added. Returns the name."""
    names: list[Path] = []
    with staged_file(path, name=lambda partial, wanted: names.append(name_anew(partial, wanted))) as file:
        file.write(to_bytes(text))
    return names[0]


@contextmanager
def staged_file(
    path: Path, synced: bool = False, name: Callable[[Path, Path], object] | None = None
) -> Iterator[IO[bytes]]:
    """A new file that gets its name when the block ends well, and is gone when it does not.

    ``name`` gives it the name: in the place of what stands there (None), or as ``name_anew`` does.
    """
    partial = staging_path(path.parent)
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOT_THROUGH, 0o666)
    try:
        with open(handle, "wb") as file:
            yield file
            file.flush()
            if synced:
                sync_handle(file.fileno())
        (name or os.replace)(partial, path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def name_anew(partial: Path, path: Path) -> Path:
    """Name a file without replacing another: where the name is taken, a number is added. Returns the name."""
    for free in numbered(path):
        try:
            os.link(partial, free)  # fails where the name is taken, as no rename does
        except FileExistsError:
            continue
        except OSError:  # a file system without hard links
            if os.path.lexists(free):
                continue
            os.replace(partial, free)
        break
    return free


def numbered(path: Path, is_folder: bool = False) -> Iterator[Path]:
    """out.csv, out-2.csv, out-3.csv …; the number comes last in a folder's name."""
    name, ending = (path.name, "") if is_folder else (path.stem, path.suffix)
    yield path
    yield from (path.with_name(f"{name}-{number}{ending}") for number in itertools.count(2))


def free_name(path: Path, is_folder: bool = False) -> Path:
    """The first of the ``numbered`` names that is not taken."""
    return next(name for name in numbered(path, is_folder) if not os.path.lexists(name))


def staging_path(folder: Path, what: str = "new") -> Path:
    """A name in a folder that nobody can have prepared; whoever uses it must create it exclusively."""
    return folder / f".pippin-{what}-{secrets.token_hex(8)}.partial"


def staging_folder(folder: Path, what: str = "new") -> Path:
    """A new, empty folder inside another, for files that are to be renamed into place."""
    path = staging_path(folder, what)
    path.mkdir()
    return path


def is_staging(name: str) -> bool:
    """Whether a name is one that ``staging_path`` gives."""
    return _STAGING_NAME.fullmatch(name) is not None


def remove_leftovers(folder: Path) -> None:
    """Remove what writes that were killed left behind. Only for a folder that no other process writes into."""
    for path in [path for path in folder.iterdir() if is_staging(path.name)]:
        if is_own_folder(path):
            shutil.rmtree(path, ignore_errors=True)  # it deletes links, and never what they lead to
        elif is_plain_file(path):
            path.unlink()


def is_own_folder(path: Path) -> bool:
    """Whether a path is a folder itself, rather than a link to one."""
    return path.is_dir() and not path.is_symlink()


def is_plain_file(path: Path) -> bool:
    """Whether a path is a file itself, rather than a link to one, or anything else that can be opened."""
    return path.is_file() and not path.is_symlink()


def open_to_append(path: Path) -> int:
    """A handle of a file that grows; refused where the name leads anywhere else than to a file of its own."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _NOT_THROUGH, 0o666)
    except OSError:
        if _is_elsewhere(path):
            raise _refusal(path) from None
        raise
    facts = os.fstat(handle)
    if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
        os.close(handle)
        raise _refusal(path)
    return handle


def _is_elsewhere(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_file())


def _refusal(path: Path) -> PippinError:
    kind = "a symbolic link" if path.is_symlink() else "a hard link" if path.is_file() else "not a plain file"
    return PippinError(f"{path} is {kind}, and Pippin writes only into files of its own. Remove it and try again.")


def usual_mode() -> int:
    """The permissions that a plain new file would get."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def sync(path: Path) -> None:
    """Wait until a file, or a folder's list of names, is on the disk itself."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        sync_handle(handle)
    finally:
        os.close(handle)


def sync_handle(handle: int) -> None:
    """The same for a file or folder that is open."""
    full = _full_sync()
    if full is not None and stat.S_ISREG(os.fstat(handle).st_mode):
        full(handle)
    else:
        os.fsync(handle)


def _full_sync() -> Callable[[int], object] | None:
    """macOS's fsync leaves the bytes in the drive's own cache; F_FULLFSYNC does not. None on other systems."""
    import fcntl

    command = getattr(fcntl, "F_FULLFSYNC", None)
    return None if command is None else lambda handle: fcntl.fcntl(handle, command)
