"""A script that dies leaves a checkpoint: it is interrupted between two updates of the weights, never within one."""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from transformers import TrainerCallback

from pippin.machine.drivers.base import Backend


class Terminated(BaseException):
    """SIGTERM, on its way out of the training: the process ends by that signal when its checkpoint is written."""


class Safekeeping(TrainerCallback):
    """Knows when the weights and the number of steps belong together, and from which random state a step began."""

    def __init__(self, backend: Backend | None, on_begin: Callable[[], None]):
        self.backend, self.on_begin = backend, on_begin
        self.first_step: float = math.inf
        """The step that this training goes on from; beyond all steps where it has not begun, or is over."""
        self._process = os.getpid()
        self._in_update = False
        self._pending: type[BaseException] | None = None
        self._random: tuple[Any, ...] | None = None

    def can_save_step(self, step: int) -> bool:
        """Whether the weights are those of a step that this training has made."""
        return not self._in_update and step > self.first_step

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.first_step, self._in_update, self._pending, self._random = state.global_step, False, None, None
        self.on_begin()

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._in_update = True

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._random = self._random_state()  # a data loader draws a number when it begins

    on_predict = on_evaluate

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._in_update = False
        self._random = self._random_state()
        if self._pending is not None:
            pending, self._pending = self._pending, None
            raise pending

    def go_back_to_step(self) -> None:
        """Take up the random state that the last whole step left, so that the next one can be repeated."""
        if self._random is not None:
            import random

            import numpy as np

            python, numbers, device = self._random
            random.setstate(python)
            np.random.set_state(numbers)
            if self.backend is not None:
                self.backend.set_random_state(device)

    def _random_state(self) -> tuple[Any, ...]:
        import random

        import numpy as np

        device = self.backend.random_state() if self.backend is not None else {}
        return random.getstate(), np.random.get_state(), device

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
