"""What some work takes beside time: memory, and power where the machine tells."""

from __future__ import annotations

import ctypes
import gc
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from pippin.commands.bench.schedule import CannotMeasure
from pippin.engine.memory import unless_it_is_too_much
from pippin.machine.drivers.base import Backend

T = TypeVar("T")
#: Seconds between looks at the power.
_LOOK_EVERY = 0.25


@dataclass
class Watched:
    """Filled in when the work is done."""

    memory: int | None = None
    """Most bytes held beside those from before."""
    watts: float | None = None


@contextmanager
def watching(backend: Backend, power: bool = False) -> Iterator[Watched]:
    """Watch the work inside; looking at the power takes a thread, so only long work should be watched for it."""
    watched = Watched()
    # What nobody uses is freed, so that this work is not judged by what the last one left behind.
    gc.collect()
    backend.empty_cache()
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)  # glibc's; other libraries have none
    backend.forget_peak()
    meter = _PowerMeter(backend) if power else None
    with backend.watching_memory():
        before = backend.memory_now()
        try:
            yield watched
            backend.synchronize()
        finally:
            watched.watts = meter.stop() if meter else None
        peak = backend.memory_peak()
    if before is not None and peak is not None:
        watched.memory = max(0, peak - before)


def fitting(backend: Backend, work: Callable[[], T]) -> T:
    """What the work gives; running out of memory is an answer too."""
    found = unless_it_is_too_much(backend, work, less=lambda: True)
    if found is None:
        raise CannotMeasure("out of memory")
    return found


class _PowerMeter:
    """Mean power from its making on: by a counter of energy, or by looks at the power."""

    def __init__(self, backend: Backend):
        self._backend, self._start = backend, time.perf_counter()
        self._joules = backend.joules()
        self._looks: list[float] = []
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        if self._joules is None and backend.watts() is not None:
            self._thread = threading.Thread(target=self._look, daemon=True)
            self._thread.start()

    def stop(self) -> float | None:
        if self._joules is not None:
            used = (self._backend.joules() or 0.0) - self._joules
            return used / (time.perf_counter() - self._start) if used > 0 else None  # the counter may start anew
        if self._thread is not None:
            self._done.set()
            self._thread.join()
        return statistics.mean(self._looks) if self._looks else None

    def _look(self) -> None:
        while not self._done.wait(_LOOK_EVERY):
            if (watts := self._backend.watts()) is not None:
                self._looks.append(watts)
