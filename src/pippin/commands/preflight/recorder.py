"""What a piece of work does to memory and arithmetic, call by call, while it runs with tensors without contents.

A tensor's memory counts from the call that makes it until the last one who holds it lets go, as an allocator sees it.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

#: Allocators of GPUs hand out memory in pieces of this size.
_PIECE = 512


class OperatorRecorder(TorchDispatchMode):
    """Watches every call to an operator while it is entered."""

    def __init__(self, kind: str, label: Callable[[torch.Tensor], str]):
        super().__init__()
        self.kind = kind
        """Of the device whose memory is counted."""
        self.label = label
        """What a new tensor is for."""
        self.held = 0
        self.by_label: Counter[str] = Counter()
        self.peak = 0
        self.at_peak: Counter[str] = Counter()
        self.flops = 0
        self.moved = 0
        """Bytes that were read and written."""
        self.doubles: Counter[str] = Counter()
        """Operators that made a tensor of float64."""
        self._sizes: dict[int, tuple[int, str]] = {}
        self._watched: dict[int, weakref.ref[Any]] = {}

    def add(self, tensor: torch.Tensor, label: str) -> None:
        """Count a tensor that is there already, or is for something else than it seemed."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._sizes:
            size, old = self._sizes[key]
            self.by_label[old] -= size
            self.by_label[label] += size
            self._sizes[key] = size, label
            return
        size = -(-storage.nbytes() // _PIECE) * _PIECE
        self._sizes[key] = size, label
        self._watched[key] = weakref.ref(storage, lambda _: self._gone(key))
        self.held += size
        self.by_label[label] += size
        if self.held > self.peak:
            self.peak, self.at_peak = self.held, Counter(self.by_label)

    def _gone(self, key: int) -> None:
        size, label = self._sizes.pop(key)
        self._watched.pop(key, None)
        self.held -= size
        self.by_label[label] -= size

    def __torch_dispatch__(self, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
        named = named or {}
        found = _call(function, arguments, named)
        made = [each for each in tree_leaves(found) if isinstance(each, torch.Tensor)]
        taken = [each for each in tree_leaves((arguments, named)) if isinstance(each, torch.Tensor)]
        known = {tensor.untyped_storage()._cdata for tensor in taken}
        new = [each for each in made if each.untyped_storage()._cdata not in known and each.device.type == self.kind]
        if new or function._schema.is_mutable:  # a view costs nothing
            self.moved += sum(tensor.nbytes for tensor in (*taken, *new))
        for tensor in new:
            if tensor.untyped_storage()._cdata not in self._sizes:
                self.add(tensor, self.label(tensor))
            if tensor.dtype == torch.float64 and tensor.dim():
                self.doubles[str(function)] += 1
        packet = function._overloadpacket
        if packet in flop_registry:
            self.flops += flop_registry[packet](*arguments, **named, out_val=found)
        return found


def _call(function: Any, arguments: Any, named: Any) -> Any:
    if function is torch.ops.aten._efficient_attention_backward.default:
        # torch's rule for the shapes of this one takes an argument too few (seen in 2.11 and 2.13).
        query, key, value = arguments[1:4]
        return (*map(torch.empty_like, (query, key, value)), query.new_empty(()))
    return function(*arguments, **named)


@contextmanager
def naming_modules(model: torch.nn.Module) -> Iterator[list[str]]:
    """The names of the modules that are running, the innermost last, as the context goes on."""
    names = {id(module): name for name, module in model.named_modules()}
    running: list[str] = []

    def enter(module: torch.nn.Module, _: Any) -> None:
        running.append(names.get(id(module), ""))

    def leave(module: torch.nn.Module, _: Any, __: Any) -> None:
        running.pop()

    hooks = [
        torch.nn.modules.module.register_module_forward_pre_hook(enter),
        torch.nn.modules.module.register_module_forward_hook(leave, always_call=True),
    ]
    try:
        yield running
    finally:
        for hook in hooks:
            hook.remove()
