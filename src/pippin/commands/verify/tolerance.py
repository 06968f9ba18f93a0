"""How far two devices may differ, from the arithmetic of the dtype.

In fp32 it begins with a formula: sums are taken in another order, and their rounding errors add up as random ones do.
But a tensor can be worse conditioned than the formula knows, as the gradient of attention's queries where little is
left after large terms cancel; and in mixed precision a formula for a whole model would have to allow so much that only
gross faults show. So the model itself is the yardstick: how far the CPU is from its own results when it rounds every
product (see rounding.py) is the honest error of each tensor. In mixed precision the device may be a few times as far.
It rounds in more places, such as activations, but not many times as often, and errors grow as the root of that. In
fp32 the formula's error is allowed as many times as the coarse rounding grew on its way to the tensor.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median

import torch

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
