"""Files that the user names for results: never in the place of another unless asked, and never of the input."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from pippin.errors import PippinError
from pippin.files import name_anew, staged_file
from pippin.report.stream import was_closed


@dataclass
class Output:
    file: TextIO
    path: Path | None = None
    """Where the rows are when all is done; None for standard output."""


def output_problem(flag: str, path: Path, overwrite: bool, inputs: Iterable[str | int] = ()) -> str | None:
    """What keeps a file from being written, if anything. ``inputs`` are the paths or handles that are read."""
    if not path.absolute().parent.is_dir():
        return f"{flag} {path}: there is no folder {path.parent}."
    if path.is_dir():
        return f"{flag} {path} is a folder; name a file."
    if any(_is_same(path, other) for other in inputs):
        return f"{flag} {path} is the file that is read. Name another one."
    if os.path.lexists(path) and not overwrite:
        return f"{flag} {path} is there already. Name another file, or add --overwrite to replace it."
    return None


def _is_same(path: Path, other: str | int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.stat(other))
    except (OSError, ValueError):
        return False


@contextmanager
def output_file(output: str | None, overwrite: bool) -> Iterator[Output]:
    """Where the rows go. A file is opened at once, and gets its name only when all went well."""
    if output is None:
        if was_closed(sys.stdout):
            raise PippinError("standard output is closed, and the rows would be lost. Name a file with --output.")
        yield Output(sys.stdout)
        return
    path = Path(output)

    def name(partial: Path, final: Path) -> None:
        found.path = final if overwrite else name_anew(partial, final)  # somebody may have been quicker
        if overwrite:
            os.replace(partial, final)

    with ExitStack() as stack:
        with naming(output):
            file = stack.enter_context(staged_file(path, name=name))
        # Half a character, which UTF-8 cannot hold, stays in its escaped form.
        found = Output(io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline=""))
        yield found
        with naming(output):
            found.file.flush()
            stack.close()


@contextmanager
def naming(output: str | None) -> Iterator[None]:
    """A disk's refusal as a message that names the file."""
    try:
        yield
    except OSError as error:
        if output is None:
            raise
        raise PippinError(f"--output {output} cannot be written: {error.strerror or error}.") from None
