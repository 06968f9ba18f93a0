"""Names of files and folders that Pippin makes up from names it was given: always plain, never a way out."""

from __future__ import annotations

import re
from pathlib import Path

from pippin.errors import PippinError
from pippin.plain_files import is_utf_8

#: In characters and in bytes: a file system takes 255 bytes, and Pippin adds words and numbers of its own.
_LONGEST, _MOST_BYTES = 64, 180
#: Windows keeps these for devices, whatever follows a point.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def plain_name(name: str, instead: str = "run") -> str:
    """Letters, digits, points, dashes and underscores of a name, in any script; ``instead`` where none is left.

    >>> [plain_name(name) for name in ("my reviews", "../x", "..", "CON", "-rf", "отзывы")]
    ['my-reviews', 'x', 'run', 'run-CON', 'rf', 'отзывы']
    """
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)
    # No hidden folder, no word that a command would take for a flag.
    plain = plain.lstrip(".-")[:_LONGEST].encode()[:_MOST_BYTES].decode(errors="ignore").rstrip(".-")
    if not plain:
        return instead
    return f"{instead}-{plain}" if _DEVICES.fullmatch(plain) else plain


def checked_path(path: str) -> Path:
    """A path that the user names may be anywhere, but it must be one that a file system can have."""
    if "\0" in path:
        raise PippinError(f"--output_dir {path!r} holds a NUL character. Name another folder.")
    if not is_utf_8(path):
        raise PippinError(f"--output_dir {path} is not UTF-8, and weights cannot be saved there. Name another folder.")
    return Path(path)
