"""The precision that a model's weights are kept in."""

from __future__ import annotations

import torch

TORCH_TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def keep_in(model: torch.nn.Module, precision: str) -> None:
    """And not what positions are computed from: that stays in full precision."""
    for parameter in model.parameters():
        parameter.data = parameter.data.to(TORCH_TYPES[precision])
