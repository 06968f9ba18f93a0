"""The loss of some rows as a sum, so that accumulated micro-batches add up to the whole batch exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Loss:
    """Cross-entropy for classes, squared error for numbers: what transformers' heads compute, summed over rows."""

    regression: bool
    label_smoothing: float = 0.0

    def __call__(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        from torch.nn import functional

        logits = logits.float()
        if self.regression:
            return functional.mse_loss(logits.squeeze(-1), labels.float(), reduction="sum")
        return functional.cross_entropy(logits, labels, reduction="sum", label_smoothing=self.label_smoothing)
