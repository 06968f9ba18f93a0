"""Output whose reader may go away: a closed terminal, `| head`, a full disk. The work goes on without it."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO


class LastingStream:
    """A stream that never fails: once it cannot be written, all that follows goes nowhere."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            let_go(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            let_go(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def let_go(stream: TextIO) -> None:
    """Lead a stream nowhere: what is still in Python's buffers would fail again when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def replace_closed() -> None:
    """Streams that were closed when the process began (`>&-`), which Python has none for, as ones that lead nowhere.

    Their numbers are taken first: the next file that is opened would get one, and what is printed with it.
    """
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (for as long as the process)
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def was_closed(stream: TextIO) -> bool:
    """Whether a stream is one of those."""
    return getattr(stream, "name", None) == os.devnull
