"""Notices that the computer slept in the middle of a run."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

#: The two clocks part by less than this when the system sets the time.
_CLOCKS_PART = 30.0
#: A step is taken for sleep when it took so many times as long as the others, and so many seconds at least.
_TIMES_AS_LONG, _LONG_STEP = 20, 60.0
#: Steps that tell how long one usually takes, and how many are enough to say so.
_USUAL_STEPS, _ENOUGH_STEPS = 21, 5


@dataclass(frozen=True)
class TwoClocks:
    """Two clocks. Both macOS and Linux stop the second one while the computer sleeps."""

    wall: Callable[[], float] = time.time
    running: Callable[[], float] = time.perf_counter


@dataclass(frozen=True)
class Gap:
    seconds: float
    sure: bool
    """Whether the clocks show that the computer slept; else one step took far too long."""
    counted: float
    """Seconds of it that the running clock counted."""


class SleepWatch:
    """Looks at both clocks after every step and every pause."""

    def __init__(self, clock: TwoClocks):
        self.clock = clock
        self.wall, self.running = clock.wall(), clock.running()
        self.steps: deque[float] = deque(maxlen=_USUAL_STEPS)
        self.last_was_long = False

    def after_step(self) -> Gap | None:
        seconds, slept = self._look()
        usual = median(self.steps) if len(self.steps) >= _ENOUGH_STEPS else None
        self.steps.append(seconds)
        if slept is not None:
            return slept
        is_long = usual is not None and seconds > max(_LONG_STEP, _TIMES_AS_LONG * usual)
        # Two long steps in a row are slow work, not sleep.
        alone, self.last_was_long = is_long and not self.last_was_long, is_long
        return Gap(seconds - usual, sure=False, counted=seconds - usual) if usual is not None and alone else None

    def after_pause(self) -> Gap | None:
        """Call this after other work than a step, such as an evaluation, which may take long."""
        return self._look()[1]

    def _look(self) -> tuple[float, Gap | None]:
        """Seconds since the last look by the running clock, and the sleep that only the wall clock counted."""
        wall, running = self.clock.wall(), self.clock.running()
        passed, seconds = wall - self.wall, running - self.running
        self.wall, self.running = wall, running
        asleep = passed - seconds
        return seconds, Gap(asleep, sure=True, counted=0.0) if asleep > _CLOCKS_PART else None
