"""An operator that is answered by something else, where it is called with tensors of the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

#: Given what runs the operator, and its arguments.
Answer = Callable[[Callable[[], Any], tuple[Any, ...]], Any]


class Planted(TorchDispatchMode):
    def __init__(self, operator: str, answer: Answer):
        super().__init__()
        self.operator, self.answer = operator, answer

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: tuple[Any, ...] = (), keywords: dict[str, Any] | None = None
    ) -> Any:
        def run() -> Any:
            return function(*arguments, **(keywords or {}))

        if function.name() != self.operator or not _on_device((arguments, keywords)):
            return run()
        return self.answer(run, arguments)


def _on_device(values: Any) -> bool:
    return any(isinstance(value, torch.Tensor) and value.device.type == "mps" for value in tree_leaves(values))
