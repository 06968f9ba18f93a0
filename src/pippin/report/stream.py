"""Output whose reader may go away: a closed terminal, `| head`, a full disk. The work goes on without it."""

from __future__ import annotations

import os
from typing import Any, TextIO


class LastingStream:
    """A stream that never fails: once it cannot be written, all that follows goes nowhere."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            self._let_go()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            self._let_go()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _let_go(self) -> None:
        """What is still in Python's buffers would fail again when the process ends."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
