"""One optimiser step: micro-batches forward and backward, clip, update, schedule."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pippin.data.collate import Batch
from pippin.models.network import Network
from pippin.tasks.base import Task


class EagerStep:
    """Runs steps as plain torch calls. The loss stays on the device until somebody asks for it."""

    def __init__(
        self, network: Network, optimiser: torch.optim.Optimizer, schedule: Any, task: Task, max_grad_norm: float
    ):
        self.network, self.optimiser, self.schedule = network, optimiser, schedule
        self.task, self.max_grad_norm = task, max_grad_norm
        self.model, self.backend, self.collate = network.model, network.backend, network.collate
        self.parameters = [p for group in optimiser.param_groups for p in group["params"]]
        self.scaler = torch.amp.GradScaler(self.backend.kind) if network.precision == "fp16" else None
        self.metric_decides_rate = isinstance(schedule, torch.optim.lr_scheduler.ReduceLROnPlateau)
        # A fused step divides the gradient by a scale that it is given, which saves a pass over all of it.
        fused = bool(optimiser.param_groups[0].get("fused"))
        self.clips_in_step = fused and self.backend.clips_in_step and self.scaler is None

    def __call__(self, micro_batches: list[Batch]) -> tuple[Tensor, Tensor]:
        """Train on the micro-batches as one batch; returns its mean loss and the gradient's norm before clipping."""
        loss, norm = self.gradients(micro_batches)
        self.update()
        return loss, norm

    def gradients(self, micro_batches: list[Batch]) -> tuple[Tensor, Tensor]:
        """The first half of a step: forward, backward, clip. ``undo`` takes it back, whole or cut short."""
        return self._gradients(micro_batches, self._count(micro_batches))

    def update(self) -> None:
        """The second half: change the weights and the learning rate. What fails here cannot be taken back."""
        if self._change_weights() and not self.metric_decides_rate:
            self.schedule.step()
        self.optimiser.zero_grad(set_to_none=True)

    def undo(self) -> None:
        """Forget the gradients, so that the step can be done again."""
        self.optimiser.zero_grad(set_to_none=True)
        if self.scaler:  # it may hold that these gradients were unscaled
            fresh = torch.amp.GradScaler(self.backend.kind)
            fresh.load_state_dict(self.scaler.state_dict())
            self.scaler = fresh

    def repeat(self, micro_batches: list[Batch]) -> None:
        """A step that failed, once more, for the search for the cause. It may change the weights: the run is over."""
        self.undo()
        self(micro_batches)

    @property
    def can_undo(self) -> bool:
        """Whether ``undo`` takes back what was done of a step so far."""
        return True

    @property
    def is_compiled(self) -> bool:
        return False

    def compile(self) -> None:
        """Only captured steps are compiled; a run that began so may go on elsewhere."""

    @property
    def learning_rate(self) -> float:
        return float(self.optimiser.param_groups[0]["lr"])

    def _count(self, micro_batches: list[Batch]) -> float:
        """What the loss is divided by, from labels that are still on the CPU: the device need not be waited for."""
        return sum(self.task.count(batch.labels) for batch in micro_batches if batch.labels is not None)

    def _gradients(self, micro_batches: list[Batch], count: float | Tensor) -> tuple[Tensor, Tensor]:
        total = torch.zeros((), device=self.backend.device)
        for batch in micro_batches:
            total += self.accumulate(batch, count)
        return total, self.clip()

    def accumulate(self, batch: Batch, count: float | Tensor) -> Tensor:
        """Forward and backward of a micro-batch; returns its part of the loss.

        The sum over this part is divided by the count of the whole step: gradients add up to the whole batch's.
        """
        loss = self._forward(batch) / count
        (self.scaler.scale(loss) if self.scaler else loss).backward()
        return loss.detach()

    def _forward(self, batch: Batch) -> Tensor:
        assert batch.labels is not None
        return self.task.loss(self.network.logits(batch), self.backend.to_device(batch.labels))

    def _change_weights(self) -> bool:
        """False where the scaler found an overflow and left them as they were."""
        if self.scaler is None:
            self.optimiser.step()
            return True
        scale = self.scaler.get_scale()
        self.scaler.step(self.optimiser)
        self.scaler.update()
        return self.scaler.get_scale() >= scale

    def clip(self) -> Tensor:
        """Clip the gradient, or see to it that the optimiser does; returns its norm before."""
        if self.scaler:
            self.scaler.unscale_(self.optimiser)
        limit = self.max_grad_norm if self.max_grad_norm > 0 else float("inf")
        if not self.clips_in_step:
            return torch.nn.utils.clip_grad_norm_(self.parameters, limit)
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        if self.max_grad_norm > 0:
            self.optimiser.grad_scale = ((norm + 1e-6) / limit).clamp(min=1.0)
        return norm
