"""Frozen weights kept in half precision and widened where they are used: the same results in half the memory.

Weights that were saved in bfloat16 or float16 lose nothing so, and what is computed with them is computed in full
precision. A copy of one layer at a time is held in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional


def widen_where_used(model: torch.nn.Module) -> None:
    """Let the frozen linear layers and embeddings of a model give full precision; all other weights get it.

    Classes of a model's own may compute something more in the precision of their weights.
    """
    for module in model.modules():
        own = list(module.parameters(recurse=False))
        if not own or all(each.dtype == torch.float32 for each in own):
            continue
        if type(module) is torch.nn.Linear and not own[0].requires_grad:
            module.forward = _Linear(module)
        elif type(module) is torch.nn.Embedding and not own[0].requires_grad:
            module.register_forward_hook(lambda _, __, found: found.float())
        else:
            module.float()


@contextmanager
def held_wide(module: torch.nn.Module) -> Iterator[None]:
    """Within, a layer that is used again and again keeps its wide copy."""
    widened = module.__dict__.get("forward")
    if not isinstance(widened, _Linear):
        yield
        return
    widened.wide = widened.module.weight.float()
    try:
        yield
    finally:
        widened.wide = None


class _Linear:
    def __init__(self, module: torch.nn.Linear):
        self.module = module
        self.wide: Tensor | None = None

    def __call__(self, states: Tensor) -> Tensor:
        bias = self.module.bias
        found = _Widened.apply(states, self.module.weight if self.wide is None else self.wide)
        return found if bias is None else found + bias.to(found.dtype)


class _Widened(torch.autograd.Function):
    """A product with a weight that is not trained; the wide copy is made again for the gradient."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(weight)
        return functional.linear(states, weight.to(states.dtype))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (weight,) = ctx.saved_tensors
        return gradient @ weight.to(gradient.dtype), None
