"""Calls of a model's modules: recorded on the CPU, and run again alone, there or on a device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from pippin.commands.verify.measurement import loss_scale, to_cpu
from pippin.commands.verify.tolerance import Tensors
from pippin.machine.drivers.base import Backend


@dataclass(frozen=True)
class ModuleCall:
    """What a module was given, on the CPU."""

    path: str
    """Of the module in the model; empty for the model itself."""
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    gradients: dict[int, torch.Tensor] = field(default_factory=dict)
    """Of its outputs, by their number. Where one output is made from another, that way counts twice, on all devices."""


def run_alone(model: torch.nn.Module, call: ModuleCall, backend: Backend, precision: str) -> tuple[Tensors, Tensors]:
    """The outputs of a call, and the gradients of its inputs and parameters, where gradients are enabled."""
    module = model.get_submodule(call.path)
    inputs = _Inputs(backend.to_device, exact=precision == "fp32")
    arguments, named = inputs.moved(call.arguments), inputs.moved(call.named)
    with backend.autocast(precision):
        outputs = tensors_in(module(*arguments, **named))
    found = {f"output {number}": to_cpu(tensor) for number, tensor in enumerate(outputs) if tensor.is_floating_point()}
    wanted = {f"input.{number}": tensor for number, tensor in enumerate(inputs.trained)}
    parameters = module.named_parameters(prefix=call.path)
    wanted |= {name: parameter for name, parameter in parameters if parameter.requires_grad}
    scale = loss_scale(precision)
    ends = {number: outputs[number] for number in call.gradients if outputs[number].requires_grad}
    if not ends or not wanted:
        return found, {}
    given = [backend.to_device(call.gradients[number] * scale).to(end.dtype) for number, end in ends.items()]
    gradients = torch.autograd.grad(list(ends.values()), list(wanted.values()), given, allow_unused=True)
    pairs = zip(wanted, gradients, strict=True)
    return found, {name: to_cpu(gradient) / scale for name, gradient in pairs if gradient is not None}


def calls_within(model: torch.nn.Module, call: ModuleCall, cpu: Backend, precision: str) -> list[ModuleCall]:
    """The calls that a module makes of others, in their order, but not those that these make in turn."""
    within, scale = model.get_submodule(call.path), loss_scale(precision)
    calls: list[ModuleCall] = []
    running: list[str] = []

    def enter(path: str, _: torch.nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if not running:
            kept = _Inputs(lambda tensor: tensor)
            calls.append(ModuleCall(path, kept.moved(arguments), kept.moved(named)))
        running.append(path)

    def leave(_: torch.nn.Module, __: tuple[Any, ...], answer: Any) -> None:
        running.pop()
        for number, tensor in enumerate([] if running else tensors_in(answer)):
            if tensor.requires_grad:
                tensor.register_hook(partial(keep, calls[-1], number))

    def keep(made: ModuleCall, number: int, gradient: torch.Tensor) -> None:
        made.gradients[number] = gradient.float() / scale

    hooks = []
    for name, module in within.named_modules():
        if module is not within:
            path = f"{call.path}.{name}" if call.path else name
            hooks.append(module.register_forward_pre_hook(partial(enter, path), with_kwargs=True))
            hooks.append(module.register_forward_hook(leave))
    try:
        run_alone(model, call, cpu, precision)
    finally:
        for hook in hooks:
            hook.remove()
    return calls


def tensors_in(value: Any) -> list[torch.Tensor]:
    """All tensors of an answer, in their order."""
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


class _Inputs:
    """Copies of what a module is given: each tensor once, and with a gradient where it had one."""

    def __init__(self, copy: Callable[[torch.Tensor], torch.Tensor], exact: bool = False):
        self._copy, self._exact = copy, exact
        self._copies: dict[int, torch.Tensor] = {}
        self.trained: list[torch.Tensor] = []

    def moved(self, value: Any) -> Any:
        return tree_map_only(torch.Tensor, self._moved, value)

    def _moved(self, tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in self._copies:
            copied = self._copy(tensor.detach()).clone()
            if self._exact and tensor.is_floating_point():
                copied = copied.float()
            if tensor.requires_grad:
                self.trained.append(copied.requires_grad_())
                copied = copied.clone()  # a module may write into it, which torch refuses where a gradient is read
            self._copies[id(tensor)] = copied
        return self._copies[id(tensor)]
