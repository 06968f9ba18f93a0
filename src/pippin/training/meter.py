"""Loss and speed over the steps since the last look, without making the device wait at every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from pippin.machine.backends.base import Backend
from pippin.training.pace import Pace
from pippin.training.sleep import Clock, Gap, SleepWatch


class Meter:
    """Sums losses on the device; reads them only when somebody looks.

    Tells ``notice`` when the run has become slow (`slow`) and when the computer slept (`slept`).
    """

    def __init__(self, backend: Backend, total_steps: int, notice: Callable[..., None], clock: Clock | None = None):
        self.backend, self.total_steps, self.notice = backend, total_steps, notice
        self.clock = clock or Clock()
        self.loss = torch.zeros((), device=backend.device)
        self.norm = torch.zeros((), device=backend.device)
        self.started = self.clock.running()
        self.paused_seconds = self.lost_seconds = 0.0
        self.pace, self.watch = Pace(), SleepWatch(self.clock)
        self.steps = self.rows = self.tokens = 0
        self.window_steps = self.window_rows = self.window_tokens = 0
        self.window_opened = 0.0
        self.sum_of_losses = 0.0

    def add(self, loss: torch.Tensor, norm: torch.Tensor, rows: int, tokens: int) -> None:
        """One optimiser step."""
        self.loss += loss
        self.norm = norm
        self.steps += 1
        self.rows += rows
        self.tokens += tokens
        self.window_steps += 1
        self.window_rows += rows
        self.window_tokens += tokens
        self._tell_of_sleep(self.watch.after_step())
        slow = self.pace.add(tokens, self.busy_seconds)
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
        loss = self._take_loss()
        now = self.busy_seconds
        busy = max(now - self.window_opened, 1e-9)
        figures = {
            "loss": loss,
            "grad_norm": float(self.norm),
            "samples_per_second": round(self.window_rows / busy, 2),
            "tokens_per_second": round(self.window_tokens / busy, 1),
            "memory": self.backend.memory_now() or 0,
            "seconds_left": round(self._seconds_left(), 1),
        }
        self.window_opened = now
        self.window_steps = self.window_rows = self.window_tokens = 0
        return figures

    @property
    def peak_memory(self) -> int:
        return self.backend.memory_peak() or 0

    def finish(self) -> float:
        """The mean loss over all steps."""
        self._take_loss()
        return self.sum_of_losses / max(self.steps, 1)

    def _seconds_left(self) -> float:
        """At the present speed, with the pauses that so many steps have had so far."""
        pauses = self.paused_seconds / max(self.steps, 1)
        return (self.pace.seconds_per_step + pauses) * (self.total_steps - self.steps)

    def _tell_of_sleep(self, gap: Gap | None) -> None:
        if gap is not None:
            self.lost_seconds += gap.counted
            self.notice("slept", step=self.steps, seconds=round(gap.seconds, 1), sure=gap.sure)

    def _take_loss(self) -> float:
        total = float(self.loss)
        self.loss.zero_()
        self.sum_of_losses += total
        return total / max(self.window_steps, 1)
