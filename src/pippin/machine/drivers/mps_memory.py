"""The Apple GPU's memory, watched while a job runs. torch counts no peak of what the driver holds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

#: Shares of the budget at which torch frees what is unused, and at which it gives up; read from the environment.
HIGH, LOW = "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO"
_HIGH_DEFAULT, _LOW_DEFAULT = 1.7, 1.4
NO_LIMIT = "without a limit the whole system can freeze"

#: Seconds between two looks. The driver seldom gives memory back by itself, so that little is missed in between.
_INTERVAL = 0.05
#: Of what Metal recommends: soon above it macOS begins to swap.
_NEARLY_FULL = 0.9
#: So much, of the same, must have come on top before the cache is emptied again.
_WORTH_IT = 0.1


def watermark_problem(variables: Mapping[str, str]) -> str | None:
    """Why torch would not start with these variables; None where it does."""
    try:
        high, low = float(variables.get(HIGH) or _HIGH_DEFAULT), float(variables.get(LOW) or _LOW_DEFAULT)
    except ValueError:
        return "both must be numbers"
    if high == 0 or 0 <= low <= high <= 2:
        return None
    return (
        f"torch refuses to start with high {high:g} and low {low:g}: both go from 0 to 2, and the low one is not above "
        "the high one"
    )


def has_no_limit(variables: Mapping[str, str]) -> bool:
    """Whether torch may take all memory there is."""
    return watermark_problem(variables) is None and float(variables.get(HIGH) or _HIGH_DEFAULT) == 0


class MemoryWatch:
    """Keeps the peak, by looking again and again in a thread of its own, and empties the cache in time."""

    def __init__(self, held: Callable[[], int], budget: int, empty_cache: Callable[[], None]):
        self.held, self.budget, self.empty_cache = held, budget, empty_cache
        self.peak = held()
        self._left_after = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look_on, name="memory watch", daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.look()

    def look(self) -> int:
        """Bytes held now; the most of all looks is the peak."""
        now = self.held()
        self.peak = max(self.peak, now)
        return now

    def relieve(self) -> tuple[int, int] | None:
        """Empty the cache where the memory is nearly full and it is worth it; bytes held before and after."""
        before = self.look()
        if before < _NEARLY_FULL * self.budget or before < self._left_after + _WORTH_IT * self.budget:
            return None
        self.empty_cache()
        self._left_after = self.held()
        return before, self._left_after

    def _look_on(self) -> None:
        while not self._stop.wait(_INTERVAL):
            self.look()
