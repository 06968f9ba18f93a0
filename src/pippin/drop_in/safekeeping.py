"""A script that dies leaves a checkpoint: it is interrupted between two updates of the weights, never within one."""

from __future__ import annotations

import ctypes
import math
import os
import random
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from pippin.machine.drivers.base import Backend


class Terminated(BaseException):
    """SIGTERM, on its way out of the training: the process ends by that signal when its checkpoint is written."""


class Safekeeping:
    """Knows when the weights and the number of steps belong together, and what a step began with.

    It hears every event before the callbacks do, which may raise.
    """

    def __init__(self) -> None:
        self.backend: Backend | None = None
        self.is_wanted = True  # whether a script that dies is to leave a checkpoint at all
        self.first_step: float = math.inf
        """The step that this training goes on from; beyond all steps where it has not begun, or is over."""
        self._process = os.getpid()
        self._in_update = False
        self._pending: type[BaseException] | None = None
        self._random: tuple[Any, ...] | None = None
        self._numpy = NumpyState()
        self._loss: Any = None  # the sum of the losses since the last log, as the last whole step left it

    def can_save_step(self, step: int) -> bool:
        """Whether the weights are those of a step that this training has made."""
        return not self._in_update and step > self.first_step

    def hear(self, event: str, trainer: Any) -> None:
        if event == "on_step_end":
            self._in_update = False
            self._loss = trainer._tr_loss.clone() if hasattr(trainer, "_tr_loss") else None
            self._random = self._random_state()
            if self._pending is not None:
                pending, self._pending = self._pending, None
                raise pending
        elif event == "on_pre_optimizer_step":
            self._in_update = True
        elif event in ("on_evaluate", "on_predict"):
            self._random = self._random_state()  # a data loader draws a number when it begins
        elif event == "on_train_begin":
            self.first_step, self._in_update = trainer.state.global_step, False
            self._pending = self._random = self._loss = None

    def loss(self, trainer: Any) -> dict[str, Any]:
        """The sum of the losses since the last log and the step of that, for the last whole step."""
        if not hasattr(trainer, "_tr_loss"):  # a transformers that keeps it elsewhere
            return {}
        logged, step = trainer._globalstep_last_logged, trainer.state.global_step
        since = 0.0 if logged >= step or self._loss is None else float(self._loss)
        return {"loss_since_log": since, "last_logged_step": logged}

    def take_up_loss(self, trainer: Any, state: Mapping[str, Any]) -> None:
        """Go on adding where a checkpoint stopped, so that the next log says what it would have said."""
        since, logged = state.get("loss_since_log"), state.get("last_logged_step")
        if isinstance(since, float) and isinstance(logged, int) and hasattr(trainer, "_tr_loss"):
            trainer._tr_loss += since
            trainer._total_loss_scalar -= since  # the mean of all steps is of those that this training makes
            trainer._globalstep_last_logged = logged

    def go_back_to_step(self) -> None:
        """Take up the random state that the last whole step left, so that the next one can be repeated."""
        if self._random is not None:
            python, numbers, device = self._random
            random.setstate(python)
            np.random.set_state(numbers)
            if self.backend is not None:
                self.backend.set_random_state(device)

    def _random_state(self) -> tuple[Any, ...] | None:
        if not self.is_wanted:
            return None
        device = self.backend.random_state() if self.backend is not None else {}
        return random.getstate(), self._numpy.read(), device

    @contextmanager
    def minding_signals(self, mind_termination: bool) -> Iterator[None]:
        """Within, Ctrl-C and SIGTERM wait for an update to end. Handlers that the script has set stay its own."""
        usual: dict[int, Any] = {signal.SIGINT: signal.default_int_handler}
        if mind_termination:
            usual[signal.SIGTERM] = signal.SIG_DFL
        before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():  # others may not set handlers
            for number, handler in usual.items():
                if signal.getsignal(number) == handler:
                    before[number] = signal.signal(number, self._handle)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGTERM and os.getpid() != self._process:  # a worker that was forked
            die_by_termination()
        error = KeyboardInterrupt if number == signal.SIGINT else Terminated
        if self._in_update and self._pending is None:
            self._pending = error
            return
        raise error


def die_by_termination() -> None:
    """End as a process without a handler ends, so that whoever sent the signal sees it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


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
