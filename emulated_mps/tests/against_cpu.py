"""The same on both devices: moving trees of tensors, running them, comparing what comes back."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map


def moved(tree: Any, device: str) -> Any:
    """A copy on a device; gradients are collected anew there."""

    def move(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().to(device).requires_grad_(value.requires_grad)
        names_a_device = isinstance(value, torch.device) or value in ("cpu", "cpu:0")
        return torch.device(device) if names_a_device else value

    return tree_map(move, tree)


def tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def on_cpu(tree: Any) -> Any:
    return tree_map(lambda leaf: leaf.detach().cpu() if isinstance(leaf, torch.Tensor) else leaf, tree)


def assert_same(found: Any, expected: Any, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    torch.testing.assert_close(on_cpu(found), on_cpu(expected), rtol=rtol, atol=atol, equal_nan=True)


def backward(results: Any) -> bool:
    """From all results at once, each element with a weight of its own; False where nothing asks for gradients."""
    wanted = [result for result in tensors(results) if result.requires_grad]
    weights = [torch.linspace(0.5, 1.5, each.numel()).reshape(each.shape).to(each.dtype) for each in wanted]
    if wanted:
        torch.autograd.backward(wanted, [weight.to(each.device) for weight, each in zip(weights, wanted, strict=True)])
    return bool(wanted)


def assert_same_gradients(found: Any, expected: Any, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    for here, there in zip(tensors(found), tensors(expected), strict=True):
        assert (here.grad is None) == (there.grad is None), "a gradient is on one device only"
        assert_same(here.grad, there.grad, rtol, atol)
