"""Figures and foreign words as people read them."""

from __future__ import annotations

import math
import re
from datetime import datetime

#: What a terminal acts on instead of showing it: control characters but for line ends and tabs, marks and overrides
#: of the writing direction, line ends of other kinds, and halves of characters.
_ACTIVE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def visible(text: str) -> str:
    """A text that cannot steer a terminal: whatever would is written out.

    >>> print(visible("red \\x1b[31m"))
    red \\x1b[31m
    """
    return _ACTIVE.sub(lambda found: repr(found[0])[1:-1], text)


def shorter(text: str, most: int) -> str:
    """The beginning of a text.

    >>> shorter("a long story", 6)
    'a lon…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def memory(count: float) -> str:
    return f"{count / 2**30:.1f} GB" if count >= 2**30 else f"{count / 2**20:.0f} MB"


def duration(seconds: float) -> str:
    """A time span in words."""
    if not math.isfinite(seconds):
        return "an unknown time"
    minutes = round(seconds / 60)
    if not minutes:
        return f"{seconds:.0f} s" if seconds >= 1 or not seconds else f"{seconds:.1g} s"
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


def epochs(count: float) -> str:
    """So many epochs.

    >>> epochs(6.0), epochs(1.0), epochs(0.2857), epochs(0.0238)
    ('6 epochs', '1 epoch', '0.3 epochs', '0.02 epochs')
    """
    shown = f"{round(count, 1):g}" if count >= 0.1 else f"{count:.1g}"
    return f"{shown} epoch{'s' * (shown != '1')}"


def clock_time(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "–"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def time_taken(seconds: float) -> str:
    """How long something took, with its unit.

    >>> [time_taken(seconds) for seconds in (0.42, 18.3, 65.0, 7384.0)]
    ['0.4 s', '18 s', '1:05 min', '2:03:04 h']
    """
    if seconds < 59.5:
        return f"{seconds:.0f} s" if seconds >= 9.95 else f"{seconds:.1f} s"
    return f"{clock_time(seconds)} {'h' if seconds >= 3599.5 else 'min'}" if math.isfinite(seconds) else "–"


def local_time(moment: str) -> str:
    """A recorded moment by the clock of this computer: 2026-11-18 21:10."""
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return moment


def fit(parts: list[str], room: int) -> str:
    """As many parts as there is room for, the first ones first."""
    text = ""
    for part in parts:
        longer = f"{text} · {part}" if text else part
        if len(longer) > room:
            break
        text = longer
    return text
