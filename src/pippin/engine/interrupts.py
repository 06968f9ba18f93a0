"""Signals that ask a run to stop: the step is finished and saved first. A second Ctrl-C stops at once."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from types import FrameType
from typing import Any

_ASK_TO_STOP = ("SIGINT", "SIGTERM", "SIGHUP")


class Interrupted(KeyboardInterrupt):
    """The run stopped because it was asked to; ``signal`` decides the exit code."""

    def __init__(self, message: str, number: int):
        super().__init__(message)
        self.signal = number


class Interrupts:
    """While it lasts, the first signal is remembered instead of ending the process."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():  # others may not set handlers
            for name in _ASK_TO_STOP:
                number = getattr(signal, name, None)  # Windows has no SIGHUP
                # What is ignored on purpose, as `nohup` does with SIGHUP, stays ignored.
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        if self.received is None:
            self.received = number
            # Straight to the terminal, if that is still there: this may be in the middle of another write.
            with suppress(OSError):
                os.write(2, f"\n{signal.Signals(number).name}: this step is finished and saved first …\n".encode())
