"""Compiled layers, where the rest of the run repays the time that compiling takes.

Decided once, from the time of the steps so far. Should compiled steps turn out slower, the run goes back.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from pippin.models.first_token import layers_of

if TYPE_CHECKING:
    from pippin.engine.steps.captured import CapturedStep

#: Share of a captured step's time that compiling should save, and the seconds it should take. Cautious: whether it did
#: save any is looked at afterwards.
_SAVES, _COSTS = 0.2, 25.0
#: Steps before time is taken, and steps over which it is.
_SETTLING, _TIMED = 20, 20


class CompiledLayers:
    """The layers of a model but the last, whose hooks are not for compilers. Compiled only while ``used``."""

    def __init__(self, model: Any):
        self.layers = list(layers_of(model))[:-1]
        self.forwards: list[Callable[..., Any]] | None = None

    def compile(self) -> None:
        # The layers are alike, so that they are compiled once for each shape.
        self.forwards = [torch.compile(layer.forward, dynamic=False) for layer in self.layers]

    @contextmanager
    def used(self) -> Iterator[None]:
        """Elsewhere, as in evaluation, other shapes would be compiled anew."""
        if self.forwards is None:
            yield
            return
        for layer, forward in zip(self.layers, self.forwards, strict=True):
            layer.forward = forward
        try:
            yield
        finally:
            for layer in self.layers:
                del layer.forward


class Compiling:
    """Watches the steps, compiles when it pays, and takes it back where it does not."""

    def __init__(
        self,
        step: CapturedStep,
        total_steps: int,
        notice: Callable[..., None],
        clock: Callable[[], float] = time.perf_counter,
    ):
        self.step, self.total_steps, self.notice, self.clock = step, total_steps, notice, clock
        self.steps = self.since = 0  # the step from which on steps are alike
        self.began = 0.0
        self.before: tuple[float, dict[Any, Any]] | None = None
        """Seconds a step before compiling, and the records of those steps."""
        self.is_decided = step.is_compiled

    def after_step(self) -> None:
        self.steps += 1
        if self.is_decided:
            return
        if self.steps == self.since + _SETTLING:
            self.began = self._time()
        elif self.steps == self.since + _SETTLING + _TIMED:
            seconds = (self._time() - self.began) / _TIMED
            self._decide(seconds) if self.before is None else self._judge(seconds)

    def _decide(self, seconds: float) -> None:
        saves = (self.total_steps - self.steps) * seconds * _SAVES
        if saves < _COSTS:
            self.is_decided = True
            return
        self.notice("compiling", saves=round(saves, 1), costs=_COSTS)
        self.before = seconds, dict(self.step.replays.records)
        self.step.compile()
        self.since = self.steps

    def _judge(self, seconds: float) -> None:
        assert self.before is not None
        self.is_decided = True
        before, records = self.before
        if seconds >= before:
            self.step.layers.forwards = None
            self.step.replays.records = records
        self.notice("compiled", faster=round(before / seconds, 2))

    def _time(self) -> float:
        self.step.backend.synchronize()
        return self.clock()
