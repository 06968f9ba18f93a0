"""Steps that update the weights while the gradient is still being computed, so that it is never held as a whole."""

from __future__ import annotations

from typing import Any

import torch

from pippin.data.collate import Batch
from pippin.engine.steps.eager import EagerStep
from pippin.plan.memory import WAITING_GRADIENTS


class InBackwardStep(EagerStep):
    """As soon as enough gradients wait, the optimiser uses them, and they are freed.

    That is possible where a step has one micro-batch and nothing needs the whole gradient: no clipping, no loss scaler.
    A step of several micro-batches is done in the plain way.
    """

    def __init__(self, *arguments: Any, waiting: int = WAITING_GRADIENTS):
        super().__init__(*arguments)
        assert not self.max_grad_norm
        assert self.scaler is None
        self.most_waiting = waiting
        self.waiting = 0
        self.is_active = self.has_updated = False
        self.norms: list[torch.Tensor] = []
        for parameter in self.parameters:
            parameter.register_post_accumulate_grad_hook(self._arrived)

    def gradients(self, micro_batches: list[Batch]) -> tuple[torch.Tensor, torch.Tensor]:
        self.is_active, self.has_updated = len(micro_batches) == 1, False
        self.waiting, self.norms = 0, []
        try:
            loss, norm = super().gradients(micro_batches)
        finally:
            was_active, self.is_active = self.is_active, False
        return loss, torch.linalg.vector_norm(torch.stack(self.norms)) if was_active else norm

    @property
    def can_undo(self) -> bool:
        return not self.has_updated

    def _arrived(self, parameter: torch.Tensor) -> None:
        """A parameter's gradient is complete."""
        if not self.is_active:
            return
        assert parameter.grad is not None
        self.norms.append(torch.linalg.vector_norm(parameter.grad))
        self.waiting += parameter.grad.nbytes
        if self.waiting >= self.most_waiting:
            self.has_updated = True
            self._change_weights()  # of those parameters that have a gradient
            self.optimiser.zero_grad(set_to_none=True)
            self.waiting = 0
