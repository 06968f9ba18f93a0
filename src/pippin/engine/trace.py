"""Loss and gradient norm of every step, kept on the device until somebody looks, so that it need not wait."""

from __future__ import annotations

import math

import numpy as np
import torch

from pippin.engine.finite import NotFinite
from pippin.machine.drivers.base import Backend


class Trace:
    """Reads many steps at a time, and stops at the first whose loss or gradient is not finite."""

    #: Steps that may pass without a look.
    room = 256

    def __init__(self, backend: Backend, not_finite: NotFinite):
        self.not_finite = not_finite
        self.figures = torch.zeros(2, self.room, device=backend.device)
        self.losses, self.norms = (figures.unbind() for figures in self.figures)  # views, one for each step
        self.rows: list[np.ndarray] = []
        """The rows of each step since the last look."""
        self.steps = 0
        self.norm = 0.0
        """The gradient's at the last look."""
        # Added up step by step, so that it makes no difference when somebody looks.
        self.total = self.window = 0.0
        self.window_steps = 0

    def add(self, loss: torch.Tensor, norm: torch.Tensor, rows: np.ndarray) -> None:
        """One optimiser step."""
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
