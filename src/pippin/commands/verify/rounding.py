"""Mixed precision simulated in fp32: arithmetic whose products are taken of rounded numbers, and rounded.

It shows the honest error of each tensor of a model. The CPU's own mixed precision would too, but takes ten times as
long where the processor has no half precision, and rounds in other places than a GPU.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from pippin.commands.verify.tolerance import epsilon

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
    """Within, the CPU rounds as mixed precision does; TF32 rounds what goes into a product and not its result."""
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
