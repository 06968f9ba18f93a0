"""Dropout for the CPU, where torch draws a number of 53 bits for each element, one after the other."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable

#: Sixteen bits decide for an element.
_LEVELS = 1 << 16


class QuickDropout(torch.nn.Dropout):
    """Takes the place of torch's module; the chance is rounded to a 65536th, and the scale made to match it."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return drop(input, self.p) if self.training else input


def drop(tensor: torch.Tensor, chance: float) -> torch.Tensor:
    """Zero each element with this chance and scale up the rest, as torch's dropout does in training."""
    return _Drop.apply(tensor, chance) if chance > 0 else tensor


def quicken_dropout(model: torch.nn.Module) -> None:
    for parent in model.modules():
        for name, child in parent.named_children():
            if type(child) is torch.nn.Dropout:
                setattr(parent, name, QuickDropout(child.p).train(child.training))


def sixteen_random_bits(shape: torch.Size) -> torch.Tensor:
    """A number from -32768 to 32767 for each element, on the CPU: four of them come from one draw."""
    count = shape.numel()
    draws = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    return draws.view(torch.int16)[:count].view(shape)


class _Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, chance: float) -> torch.Tensor:
        dropped = round(chance * _LEVELS)
        if dropped == _LEVELS:
            ctx.save_for_backward(torch.zeros_like(tensor))
            return torch.zeros_like(tensor)
        bits = sixteen_random_bits(tensor.shape)
        kept = torch.empty_like(tensor, memory_format=torch.contiguous_format)
        torch.ge(bits, dropped - _LEVELS // 2, out=kept)
        kept.mul_(_LEVELS / (_LEVELS - dropped))
        ctx.save_for_backward(kept)
        return tensor * kept

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        (kept,) = ctx.saved_tensors
        return gradient * kept, None
