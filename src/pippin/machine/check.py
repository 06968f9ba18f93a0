"""One finding of the doctor's, and small helpers that the checks share."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: The oldest torch that Pippin takes: the last for macOS 12.3.
OLDEST_TORCH = (2, 5)
#: In order of gravity.
OK, NOTE, BAD = "ok", "note", "bad"


@dataclass(frozen=True)
class Check:
    """What was looked at, what was found, why it matters and what to type."""

    name: str
    status: str
    """ok, note (works, but look at it) or bad (stands in the way)."""
    found: str
    why: str = ""
    todo: str = ""


def memory_check(found: str, is_little: bool) -> Check:
    """The memory of the computer, and what to do where it is little."""
    if not is_little:
        return Check("memory", OK, found)
    todo = "Start with --per_device_train_batch_size 8, and close other programs."
    return Check("memory", NOTE, found, "enough for models like MiniLM; BERT-base needs care", todo)


def release(text: str) -> tuple[int, ...]:
    """The two leading numbers of a version, for comparing.

    >>> release("2.13.0+cpu"), release("12.4"), release("15")
    ((2, 13), (12, 4), (15, 0))
    """
    parts = [*text.split("+")[0].split("."), "0"][:2]
    return tuple(int(re.sub(r"\D", "", part) or 0) for part in parts)


def dotted(numbers: tuple[int, ...]) -> str:
    """A version for people.

    >>> dotted((2, 13))
    '2.13'
    """
    return ".".join(map(str, numbers))
