"""What Pippin tells the user of a script that is not Pippin's: short lines on standard error, each once."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

_said: set[str] = set()


def is_first() -> bool:
    """Whether this process speaks for all, by what its launcher says."""
    return os.environ.get("RANK", "0") == "0"


def say(text: str, again: bool = False) -> None:
    """One line, said by the first of several processes; the same line is not said twice unless ``again``."""
    if not is_first() or (text in _said and not again):
        return
    _said.add(text)
    with suppress(OSError, ValueError):  # the terminal may be gone
        print(f"pippin: {text}", file=sys.stderr, flush=True)
