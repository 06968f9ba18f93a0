"""Whether a run is as fast as at its start, and how long a step takes now. Needs no clock: seconds are handed in."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median

#: Speed is measured over windows of at least so many steps and seconds: batches differ, so one step says little.
_WINDOW_STEPS, _WINDOW_SECONDS = 16, 2.0
#: Windows that make up the start, after a first one in which the device warms up.
_START_WINDOWS = 5
#: Windows that make up the present, and how many of the last ones must all be slow.
_RECENT_WINDOWS, _SLOW_IN_A_ROW = 20, 5
#: Below this share of the start's speed (and of the share told last) it is worth telling. Warm laptops lose a tenth.
_SLOW = 0.75
#: Windows whose steps hold so many times more or fewer tokens than the start's are another kind of work.
_ALIKE = 1.5


@dataclass(frozen=True)
class _Window:
    steps: int
    tokens: int
    seconds: float

    @property
    def speed(self) -> float:
        return self.tokens / self.seconds

    @property
    def tokens_per_step(self) -> float:
        return self.tokens / self.steps


class Pace:
    """Compares the speed with the start's, by medians of windows."""

    def __init__(self) -> None:
        self.steps = self.tokens = 0
        self.seconds = 0.0
        self.opened = _Window(0, 0, 0.0)  # the run's figures when the present window began
        self.is_warm = False
        self.start: list[_Window] = []
        self.recent: deque[_Window] = deque(maxlen=_RECENT_WINDOWS)
        self.comparable: deque[_Window] = deque(maxlen=_RECENT_WINDOWS)
        self.told = 1.0

    def add(self, tokens: int, seconds: float) -> float | None:
        """One step, done when the run had trained for so many seconds.

        Returns the share of the start's speed when it has stayed low, or become much lower than when last told.
        """
        self.steps += 1
        self.tokens += tokens
        self.seconds = seconds
        window = self._present()
        if window.steps < _WINDOW_STEPS or window.seconds < _WINDOW_SECONDS:
            return None
        self.opened = _Window(self.steps, self.tokens, self.seconds)
        if not self.is_warm:
            self.is_warm = True
            return None
        self.recent.append(window)
        if len(self.start) < _START_WINDOWS:
            self.start.append(window)
            return None
        return self._judge(window)

    @property
    def seconds_per_step(self) -> float:
        """How long a step takes now; over the whole run while that is young."""
        if not self.recent:
            return self.seconds / max(self.steps, 1)
        windows = [*self.recent, self._present()]
        return sum(window.seconds for window in windows) / sum(window.steps for window in windows)

    def _present(self) -> _Window:
        return _Window(
            self.steps - self.opened.steps, self.tokens - self.opened.tokens, self.seconds - self.opened.seconds
        )

    def _judge(self, window: _Window) -> float | None:
        usual = median(first.tokens_per_step for first in self.start)
        if not usual / _ALIKE <= window.tokens_per_step <= usual * _ALIKE:
            return None
        self.comparable.append(window)
        at_start = median(first.speed for first in self.start)
        shares = [recent.speed / at_start for recent in self.comparable]
        limit = _SLOW * self.told
        if len(shares) < _RECENT_WINDOWS or median(shares) >= limit or max(shares[-_SLOW_IN_A_ROW:]) >= limit:
            return None
        # By now half of them are slow: the older half may still be from before.
        self.told = median(shares[_RECENT_WINDOWS // 2 :])
        return self.told
