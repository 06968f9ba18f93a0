"""Loss and speed over the steps since the last look."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch

from pippin.engine.finite import NotFinite, all_finite
from pippin.engine.pace import Pace
from pippin.engine.sleep import Gap, SleepWatch, TwoClocks
from pippin.machine.drivers.base import Backend


class Trace:
    """Loss and gradient norm of every step, kept on the device so that it need not wait; read many at a time.

    A look stops at the first step whose loss or gradient is not finite.
    """

    #: Steps that may pass without a look.
    room = 256

    def __init__(self, backend: Backend, not_finite: NotFinite):
        self.not_finite = not_finite
        self.figures = torch.zeros(2, self.room, device=backend.device)
        self.losses, self.norms = (figures.unbind() for figures in self.figures)  # views, one for each step
        self.rows: list[np.ndarray] = []  # of each step since the last look
        self.steps = 0
        self.norm = 0.0  # the gradient's at the last look
        # Added up step by step, so that it makes no difference when somebody looks.
        self.total = self.window = 0.0
        self.window_steps = 0

    def add(self, loss: torch.Tensor, norm: torch.Tensor, rows: np.ndarray) -> None:
        place = len(self.rows)
        self.losses[place].copy_(loss)
        self.norms[place].copy_(norm)
        self.rows.append(rows)
        self.steps += 1
        if len(self.rows) == self.room:
            self.look()

    def look(self) -> None:
        """Wait for the device and read what it has."""
        if not self.rows:
            return
        losses, norms = self.figures.cpu().tolist()
        pending, self.rows = self.rows, []
        for place, rows in enumerate(pending):
            step = self.steps - len(pending) + place + 1
            if not math.isfinite(losses[place]):
                raise self.not_finite("loss", step, rows)
            # In float16 an infinite gradient is usual: the loss scaler leaves that step out.
            if not math.isfinite(norms[place]) and self.not_finite.precision != "fp16":
                raise self.not_finite("gradient", step, rows)
            self.total += losses[place]
            self.window += losses[place]
        self.window_steps += len(pending)
        self.norm = norms[len(pending) - 1]

    def take_mean(self) -> float:
        """The mean loss of the steps since the last call."""
        self.look()
        mean = self.window / max(self.window_steps, 1)
        self.window, self.window_steps = 0.0, 0
        return mean


State = dict[str, float]
#: What a resumed run goes on counting from.
_COUNTS = ("rows", "tokens", "window_rows", "window_tokens", "window_opened", "paused_seconds", "lost_seconds")
_TRACED = ("steps", "total", "window", "window_steps")


class Meter:
    """Counts steps; what the device computed is read only when somebody looks.

    Tells ``notice`` when the run has become slow (`slow`) and when the computer slept (`slept`). A look at a loss that
    is not finite raises what ``not_finite`` makes of it.
    """

    def __init__(
        self,
        backend: Backend,
        total_steps: int,
        notice: Callable[..., None],
        not_finite: NotFinite,
        clock: TwoClocks | None = None,
    ):
        self.backend, self.total_steps, self.notice, self.not_finite = backend, total_steps, notice, not_finite
        self.clock = clock or TwoClocks()
        self.trace = Trace(backend, not_finite)
        self.started = self.clock.running()
        self.earlier_seconds = 0.0  # spent training before this process resumed the run
        self.paused_seconds = self.lost_seconds = 0.0
        self.pace, self.watch = Pace(), SleepWatch(self.clock)
        self.rows = self.tokens = 0
        self.window_rows = self.window_tokens = 0
        self.window_opened = 0.0
        self.last_rows = np.array([], dtype=np.int64)

    @property
    def steps(self) -> int:
        return self.trace.steps

    def add(self, loss: torch.Tensor, norm: torch.Tensor, rows: np.ndarray, tokens: int) -> None:
        self.trace.add(loss, norm, rows)
        self.last_rows = rows
        self.rows += len(rows)
        self.tokens += tokens
        self.window_rows += len(rows)
        self.window_tokens += tokens
        self._tell_of_sleep(self.watch.after_step())
        slow = self.pace.add(tokens, self.busy_seconds - self.earlier_seconds)
        if slow is not None:
            self.notice("slow", step=self.steps, share=round(slow, 3))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Around what is not training, such as an evaluation: it says nothing about the speed."""
        self.backend.synchronize()  # steps that are still queued are training
        began = self.clock.running()
        yield
        self.paused_seconds += self.clock.running() - began
        self._tell_of_sleep(self.watch.after_pause())

    @property
    def seconds(self) -> float:
        """Since the start, with all pauses."""
        return self.clock.running() - self.started

    @property
    def busy_seconds(self) -> float:
        """Spent training."""
        return self.seconds - self.paused_seconds - self.lost_seconds

    def read(self) -> dict[str, float]:
        """Figures since the last look: mean loss, gradient norm, speed, memory and the time left."""
        loss = self.trace.take_mean()
        now = self.busy_seconds
        busy = max(now - self.window_opened, 1e-9)
        figures = {
            "loss": loss,
            "grad_norm": self.trace.norm,
            "samples_per_second": round(self.window_rows / busy, 2),
            **self._token_speed(busy),
            "memory": self.backend.memory_now() or 0,
            "seconds_left": round(self._seconds_left(), 1),
        }
        self.window_opened = now
        self.window_rows = self.window_tokens = 0
        return figures

    def _token_speed(self, busy: float) -> dict[str, float]:
        """Nothing where each row is one vector, as with a frozen core: no tokens run through the model."""
        return (
            {"tokens_per_second": round(self.window_tokens / busy, 1)} if self.window_tokens > self.window_rows else {}
        )

    @property
    def peak_memory(self) -> int:
        return self.backend.memory_peak() or 0

    def finish(self) -> float:
        self.trace.look()
        return self.trace.total / max(self.steps, 1)

    def check_finite(self, model: torch.nn.Module) -> None:
        """Raise where a loss, a gradient or a weight is no number: such a model is not worth keeping."""
        self.trace.look()
        if not all_finite(model):
            raise self.not_finite("weights", self.steps, self.last_rows)

    def state(self) -> State:
        """All that a resumed run goes on from, as plain numbers."""
        self.trace.look()
        counts = {name: getattr(self, name) for name in _COUNTS}
        return {**counts, **{name: getattr(self.trace, name) for name in _TRACED}, "seconds": self.seconds}

    def restore(self, state: State) -> None:
        for name in _COUNTS:
            setattr(self, name, state[name])
        for name in _TRACED:
            setattr(self.trace, name, state[name])
        self.started = self.clock.running() - state["seconds"]
        self.earlier_seconds = self.busy_seconds

    def _seconds_left(self) -> float:
        """At the present speed, with the pauses that so many steps have had so far."""
        pauses = self.paused_seconds / max(self.steps, 1)
        return (self.pace.seconds_per_step + pauses) * (self.total_steps - self.steps)

    def _tell_of_sleep(self, gap: Gap | None) -> None:
        if gap is not None:
            self.lost_seconds += gap.counted
            self.notice("slept", step=self.steps, seconds=round(gap.seconds, 1), sure=gap.sure)
