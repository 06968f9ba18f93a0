"""Steps that are recorded once for each shape and then started with a single call.

A fast GPU waits for Python most of the time when it is given one small kernel after the other. Here it is given the
whole step at once: forward, backward, clipping and the optimiser.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import torch

from pippin.data.collate import Batch, Shapes
from pippin.engine.steps.compiled import CompiledLayers, Compiling
from pippin.engine.steps.eager import EagerStep
from pippin.engine.steps.replays import Replays


class CapturedStep(EagerStep):
    """Steps in the planned shapes are captured; any other runs as plain calls."""

    def __init__(self, *arguments: Any, shapes: Shapes):
        super().__init__(*arguments)
        self.collate = replace(self.network.collate, shapes=shapes)
        self.replays = Replays(self.backend, shapes)
        self.layers = CompiledLayers(self.model)
        self.rates = [torch.zeros((), device=self.backend.device) for _ in self.optimiser.param_groups]
        self.count: torch.Tensor | None = None
        """What the loss is divided by, where that is another number for batches of one shape."""
        if self.task.reads != "first token":
            self.count = torch.ones((), device=self.backend.device)
        self.is_replay = False
        self.compiling: Compiling | None = None  # where the run may be compiled

    def gradients(self, micro_batches: list[Batch]) -> tuple[torch.Tensor, torch.Tensor]:
        self.is_replay = self.replays.can(micro_batches)
        # Any other shape, such as an epoch's last batch, would be compiled anew.
        with self.layers.used() if self.replays.holds(micro_batches) else nullcontext():
            if not self.is_replay:
                self.optimiser.zero_grad(set_to_none=True)  # a replay leaves its gradients behind
                return super().gradients(micro_batches)
            for rate, group in zip(self.rates, self.optimiser.param_groups, strict=True):
                rate.fill_(group["lr"])
            if self.count is not None:
                self.count.fill_(self._count(micro_batches))
            loss, norm = self.replays(micro_batches, self._whole_step)
        return loss, norm

    def update(self) -> None:
        if not self.is_replay:
            super().update()
        elif not self.metric_decides_rate:
            self.schedule.step()
        if self.compiling is not None:
            self.compiling.after_step()

    @property
    def is_compiled(self) -> bool:
        return self.layers.forwards is not None

    def compile(self) -> None:
        self.replays.forget()
        self.layers.compile()

    def stop_recording(self) -> None:
        """Run every step as plain calls from here on."""
        self.replays = Replays(self.backend, replace(self.replays.shapes, capacities=()))
        self.collate = self.network.collate

    def repeat(self, micro_batches: list[Batch]) -> None:
        self.replays.forget()  # a replay shows no operator
        super().repeat(micro_batches)

    def _whole_step(self, batches: list[Batch]) -> tuple[torch.Tensor, torch.Tensor]:
        floats = [group["lr"] for group in self.optimiser.param_groups]
        self.optimiser.zero_grad(set_to_none=True)
        self._set_rates(self.rates)
        loss, norm = self._gradients(batches, self._count(batches) if self.count is None else self.count)
        self.optimiser.step()
        self._set_rates(floats)
        return loss, norm

    def _set_rates(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimiser.param_groups, rates, strict=True):
            group["lr"] = rate
