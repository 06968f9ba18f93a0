"""One tracker in a thread of its own: a slow or broken connection never holds up a step."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from textwrap import shorten

from pippin.report.trackers.tracker import Beginning, Figures, Tracker

#: Letters of what went wrong that are told.
_LONGEST = 200


class Worker:
    """Hands figures on in their order. What the tracker raises is kept in ``failure``, and ends its work."""

    def __init__(self, start: Callable[[Beginning], Tracker], run: Beginning):
        self.failure = ""
        self.id: str | None = None
        self._start, self._run = start, run
        self._is_open = threading.Event()
        self._work: queue.SimpleQueue[tuple[Figures, int] | str] = queue.SimpleQueue()
        # A daemon, for a process must be able to end while a tool still waits for its server.
        self._thread = threading.Thread(target=self._work_off, name="pippin tracker", daemon=True)
        self._thread.start()

    def wait_until_open(self, seconds: float) -> bool:
        """Whether it is open, or failed, in time. It may have something to ask, so the screen should be its own."""
        return self._is_open.wait(max(seconds, 0.0))

    def log(self, figures: Figures, step: int) -> None:
        self._work.put((figures, step))

    def close(self, ending: str) -> None:
        """Let it close when all is handed on; ``wait`` for that."""
        self._work.put(ending)

    def wait(self, seconds: float) -> bool:
        """Whether it closed, or failed, within the time."""
        self._thread.join(max(seconds, 0.0))
        return not self._thread.is_alive()

    def _work_off(self) -> None:
        try:
            tracker = self._start(self._run)
            self.id = tracker.id
            self._is_open.set()
            while True:
                item = self._work.get()
                if isinstance(item, str):
                    tracker.close(item)
                    return
                tracker.log(*item)
        except BaseException as error:  # some tools leave with SystemExit
            lines = str(error).strip().splitlines()
            self.failure = shorten(lines[0], _LONGEST, placeholder=" …") if lines else type(error).__name__
        finally:
            self._is_open.set()
