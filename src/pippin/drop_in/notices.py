"""What Pippin tells the user of a script that is not Pippin's: short lines on standard error, each once."""

from __future__ import annotations

import sys
from contextlib import suppress

_said: set[str] = set()


def say(text: str, again: bool = False) -> None:
    """One line; the same line is not said twice in a process unless ``again``."""
    if text in _said and not again:
        return
    _said.add(text)
    with suppress(OSError, ValueError):  # the terminal may be gone
        print(f"pippin: {text}", file=sys.stderr, flush=True)
