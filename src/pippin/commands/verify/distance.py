"""How far tensors are apart, as one number."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

import torch

from pippin.commands.verify.verdict import Finding

#: Of the usual size of tensors: below that, only rounding is left of one.
_SMALLEST = 1e-2

Tensors = dict[str, torch.Tensor]


def distance(found: torch.Tensor, wanted: torch.Tensor, size: float | None = None) -> float:
    """The root mean square of the difference by that of what was wanted; infinite where a number is not finite."""
    if not bool(torch.isfinite(found).all() and torch.isfinite(wanted).all()):
        return float("inf")
    return _size(found.double() - wanted.double()) / max(_size(wanted) if size is None else size, 1e-30)


def distances(found: Tensors, wanted: Tensors) -> dict[str, float]:
    """By name, relative to the largest tensor in the same module; what was not found is infinitely far.

    A bias can have a gradient of nearly nothing, left over when large terms cancel (that of attention's keys always
    has); then its rounding errors are as large as those of the weights beside it. A whole module can too, as attention
    to a single token: what is many times smaller than in other modules counts as no smaller than that.
    """
    by_module: dict[str, float] = {}
    for name, tensor in wanted.items():
        by_module[_module(name)] = max(by_module.get(_module(name), 0.0), _size(tensor))
    least = _SMALLEST * median(by_module.values()) if by_module else 0.0
    return {
        name: distance(found[name], tensor, max(least, by_module[_module(name)])) if name in found else float("inf")
        for name, tensor in wanted.items()
    }


def _module(name: str) -> str:
    """That of a parameter; anything else stands alone."""
    return name.rpartition(".")[0] or name


def worst(name: str, errors: Mapping[str, float], allowed: Mapping[str, float]) -> Finding:
    """One finding for many tensors: that of the one farthest beyond what it is allowed."""
    each = max(errors, key=lambda each: errors[each] / allowed[each])
    return Finding(name, errors[each], allowed[each], each)


def _size(tensor: torch.Tensor) -> float:
    return float(tensor.double().square().mean().sqrt()) if tensor.numel() else 0.0
