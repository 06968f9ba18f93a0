"""How far tensors are apart, and how far two devices may differ, from the arithmetic of the dtype.

In fp32 it begins with a formula: sums are taken in another order, and their rounding errors add up as random ones do.
But a tensor can be worse conditioned than the formula knows, as the gradient of attention's queries where little is
left after large terms cancel; and in mixed precision a formula for a whole model would have to allow so much that only
gross faults show. So the model itself is the yardstick: how far the CPU is from its own results when it rounds every
product (``rounding``) is the honest error of each tensor. In mixed precision the device may be a few times as far.
It rounds in more places, such as activations, but not many times as often, and errors grow as the root of that. In
fp32 the formula's error is allowed as many times as the coarse rounding grew on its way to the tensor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from statistics import median
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

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


#: Random rounding errors grow as the root of their number; so many standard deviations are allowed.
_DEVIATIONS = 8
#: How many times the error of rounded products: two for four times as many roundings, two for chance.
_TIMES = 4
#: Rounding can turn over a gradient that is nothing but what cancelling left; more than that is no rounding.
_LARGEST = 1.0


def allowed_error(model: torch.nn.Module, width: int = 0) -> float:
    """The relative error to expect of outputs and gradients in fp32 when sums are taken in another order.

    Each product sums over the width of its matrix; a model without matrices sums over the ``width`` of its output.
    """
    widths = [parameter.shape[-1] for parameter in model.parameters() if parameter.dim() > 1]
    return _DEVIATIONS * epsilon("fp32") * math.sqrt(sum(widths) or max(width, 1))


def allowed_update_error() -> float:
    """The same for weights after a step from equal gradients: a few roundings, whatever the model."""
    return _DEVIATIONS * epsilon("fp32")


def allowed_errors(exact: float, precision: str, rounded: Mapping[str, float]) -> dict[str, float]:
    """For each tensor, given the formula's error in fp32, and the CPU's errors when it rounds as ``yardstick`` says.

    In half precision a small tensor can be right by luck, so that it counts as no better than half of them are.
    """
    honest = {name: min(error, _LARGEST) for name, error in rounded.items()}
    if precision == "fp32":
        return {name: exact * max(1.0, error / epsilon(yardstick(precision))) for name, error in honest.items()}
    typical = median(honest.values()) if honest else 0.0
    return {name: exact + epsilon(precision) + _TIMES * max(error, typical) for name, error in honest.items()}


def yardstick(precision: str) -> str:
    """The precision to round in: for fp32 a coarser one, for its own roundings are there already."""
    return "fp16" if precision == "fp32" else precision


def epsilon(precision: str) -> float:
    """The relative step between two numbers of a precision.

    >>> epsilon("bf16")
    0.0078125
    """
    # TF32 is no dtype of torch's: fp32 whose products are taken of as many digits as fp16 has.
    dtypes = {"fp32": torch.float32, "tf32": torch.float16, "bf16": torch.bfloat16, "fp16": torch.float16}
    return torch.finfo(dtypes[precision]).eps


#: Products, forward and backward, and how many of their leading tensors are rounded; what follows are masks and sums.
_PRODUCTS = {
    **dict.fromkeys(("aten::mm", "aten::bmm", "aten::matmul"), 2),
    **dict.fromkeys(("aten::addmm", "aten::baddbmm", "aten::linear"), 3),
    **dict.fromkeys(("aten::convolution", "aten::convolution_backward"), 3),
    "aten::scaled_dot_product_attention": 3,
    "aten::_scaled_dot_product_flash_attention_for_cpu": 3,
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": 5,
}
#: The gradient of a bias is a sum of what the gradient of a product's result was rounded to.
_SUM = "aten::sum.dim_IntList"


def rounding(precision: str) -> AbstractContextManager[Any]:
    """Within, the CPU rounds as mixed precision does; TF32 rounds what goes into a product and not its result. It stays
    in fp32: the CPU's own mixed precision takes ten times as long where the processor has no half precision, and rounds
    in other places than a GPU."""
    return _Rounding(epsilon(precision), precision != "tf32")


class _Rounding(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Newer releases of torch ask this. To skip the compiler they would import it, which takes a second or two."""
        return False

    def __init__(self, epsilon: float, results: bool):
        super().__init__()
        self.results = results
        # What is left of a number when so many times itself was added and taken away has the digits that are wanted.
        self.factor = epsilon / torch.finfo(torch.float32).eps + 1

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None
    ) -> Any:
        count = _PRODUCTS.get(function.name(), int(self.results and function.name() == _SUM))
        if not count:
            return function(*arguments, **(keywords or {}))
        given = [self._rounded(value) for value in arguments[:count]]
        found = function(*given, *arguments[count:], **(keywords or {}))
        if not self.results:
            return found
        # Attention gives sums besides, which are kept in fp32 everywhere.
        return (self._rounded(found[0]), *found[1:]) if isinstance(found, tuple) else self._rounded(found)

    def _rounded(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or value.dtype != torch.float32:
            return value
        larger = value * self.factor
        return larger - (larger - value)
