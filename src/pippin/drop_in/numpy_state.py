"""The state of numpy's own generator, read after every step: only anew where something was drawn."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

#: Its words and its place among them, as they lie in memory.
_BYTES = 4 * 624 + 4


class NumpyState:
    """Reading it through numpy takes longer than everything else that is noted after a step."""

    def __init__(self) -> None:
        self._words: bytes | None = None
        self._state: Any = None

    def read(self) -> Any:
        words = _words()
        # Of a normal distribution two numbers are drawn at once; while the second is kept, a draw moves nothing.
        if words is None or words != self._words or self._state[3]:
            self._words, self._state = words, np.random.get_state()
        return self._state


def _words() -> bytes | None:
    """What changes with every draw; None where that cannot be told."""
    get = getattr(np.random, "get_bit_generator", None)  # numpy before 1.24 has none
    generator = get() if get is not None else None
    if type(generator) is not np.random.MT19937:
        return None
    return ctypes.string_at(generator.ctypes.state_address, _BYTES)
