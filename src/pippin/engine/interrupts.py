"""Signals that ask a run to stop: the step is finished and saved first. A second Ctrl-C stops at once."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from types import FrameType
from typing import Any

#: A second Ctrl-C within this time may be the launcher's copy of the first.
_ECHO_SECONDS = 2.0
_ASK_TO_STOP = ("SIGINT", "SIGTERM", "SIGHUP")


class Interrupted(KeyboardInterrupt):
    """The run stopped because it was asked to; ``signal`` decides the exit code."""

    def __init__(self, message: str, number: int):
        super().__init__(message)
        self.signal = number

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: where the run stopped, without the frames."""
        return [f"Interrupted: {self}"]


class Interrupts:
    """While it lasts, the first signal is remembered instead of ending the process."""

    def __init__(self, tells: bool = True, echoed: bool = False) -> None:
        """``tells``: whether a person is told. ``echoed``: a launcher hands on what the terminal has sent already."""
        self.received: int | None = None
        self._tells, self._echoed, self._when = tells, echoed, 0.0
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
            if self._echoed and time.monotonic() - self._when < _ECHO_SECONDS:
                return
            raise KeyboardInterrupt
        if self.received is None:
            self.received, self._when = number, time.monotonic()
            if not self._tells:
                return
            # Straight to the terminal, if that is still there: this may be in the middle of another write.
            with suppress(OSError):
                os.write(2, f"\n{signal.Signals(number).name}: finishing and saving this step first …\n".encode())
