"""What Pippin tells the user of a script that is not Pippin's: short lines on standard error, each once."""

from __future__ import annotations

import sys
from contextlib import suppress

from pippin.drop_in.ranks import is_first

_said: set[str] = set()


def say(text: str, again: bool = False) -> None:
    """One line, said by the first of several processes; the same line is not said twice unless ``again``."""
    if not is_first() or (text in _said and not again):
        return
    _said.add(text)
    with suppress(OSError, ValueError):  # the terminal may be gone
        print(f"pippin: {text}", file=sys.stderr, flush=True)
