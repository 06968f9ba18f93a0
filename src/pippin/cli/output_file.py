"""A file that appears whole or not at all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from pippin.errors import PippinError


@contextmanager
def output_file(output: str | None) -> Iterator[TextIO]:
    """Where the rows go. A file is opened at once, and gets its name only when all went well."""
    if output is None:
        yield sys.stdout
        return
    path = Path(output)
    partial = path.with_name(path.name + ".partial")
    with naming(output):
        # Half a character, which UTF-8 cannot hold, stays in its escaped form.
        file = partial.open("w", encoding="utf-8", errors="backslashreplace", newline="")
    try:
        yield file
        with naming(output):
            file.close()
            partial.replace(path)
    finally:
        with suppress(OSError):  # a full disk refuses once more
            file.close()
        partial.unlink(missing_ok=True)


@contextmanager
def naming(output: str | None) -> Iterator[None]:
    """A disk's refusal as a message that names the file."""
    try:
        yield
    except OSError as error:
        if output is None:
            raise
        raise PippinError(f"--output {output} cannot be written: {error.strerror or error}.") from None
