"""Loss and speed over the steps since the last look, without making the device wait at every step."""

from __future__ import annotations

import time

import torch

from pippin.machine.backends.base import Backend


class Meter:
    """Sums losses on the device; reads them only when somebody looks."""

    def __init__(self, backend: Backend, total_steps: int):
        self.backend, self.total_steps = backend, total_steps
        self.loss = torch.zeros((), device=backend.device)
        self.norm = torch.zeros((), device=backend.device)
        self.started = self.since = time.perf_counter()
        self.paused_since = 0.0
        self.steps = self.rows = self.tokens = 0
        self.window_steps = self.window_rows = self.window_tokens = 0
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

    def pause(self, seconds: float) -> None:
        """Time that was not spent training, such as an evaluation."""
        self.paused_since += seconds

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def read(self) -> dict[str, float]:
        """Figures since the last look: mean loss, gradient norm, speed, memory and the time left."""
        loss = self._take_loss()
        busy = max(time.perf_counter() - self.since - self.paused_since, 1e-9)
        figures = {
            "loss": loss,
            "grad_norm": float(self.norm),
            "samples_per_second": round(self.window_rows / busy, 2),
            "tokens_per_second": round(self.window_tokens / busy, 1),
            "memory": self.backend.memory_now() or 0,
            "seconds_left": round(self.seconds / max(self.steps, 1) * (self.total_steps - self.steps), 1),
        }
        self.since = time.perf_counter()
        self.paused_since = 0.0
        self.window_steps = self.window_rows = self.window_tokens = 0
        return figures

    @property
    def peak_memory(self) -> int:
        return self.backend.memory_peak() or 0

    def finish(self) -> float:
        """The mean loss over all steps."""
        self._take_loss()
        return self.sum_of_losses / max(self.steps, 1)

    def _take_loss(self) -> float:
        total = float(self.loss)
        self.loss.zero_()
        self.sum_of_losses += total
        return total / max(self.window_steps, 1)
