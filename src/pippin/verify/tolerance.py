"""How far two devices may differ, from the arithmetic of the dtype."""

from __future__ import annotations

import math

import torch

#: Random rounding errors grow as the root of their number; so many standard deviations are allowed.
_DEVIATIONS = 8


def allowed_error(model: torch.nn.Module, precision: str) -> float:
    """The relative error to expect of outputs and gradients when sums are taken in another order.

    Each product sums over the width of its matrix in fp32; in mixed precision its operands are rounded once more.
    """
    widths = [parameter.shape[-1] for parameter in model.parameters() if parameter.dim() > 1]
    error = epsilon("fp32") * math.sqrt(sum(widths))
    if precision != "fp32":
        error += epsilon(precision) * math.sqrt(len(widths))
    return _DEVIATIONS * error


def allowed_update_error() -> float:
    """The same for weights after a step from equal gradients: a few roundings, whatever the model."""
    return _DEVIATIONS * epsilon("fp32")


def epsilon(precision: str) -> float:
    """The relative step between two numbers of a precision.

    >>> epsilon("bf16")
    0.0078125
    """
    # TF32 is no dtype of torch's: fp32 whose products are taken of as many digits as fp16 has.
    dtypes = {"fp32": torch.float32, "tf32": torch.float16, "bf16": torch.bfloat16, "fp16": torch.float16}
    return torch.finfo(dtypes[precision]).eps
