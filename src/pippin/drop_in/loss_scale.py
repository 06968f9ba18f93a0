"""How the losses of accumulated micro-batches are scaled, so that together they are the whole batch's.

transformers tells a model how many labels the whole batch has and takes it that its loss is divided by that number. The
classification heads of most models ignore it and give the mean of their own rows, so that the sum over micro-batches
comes out too large by their number.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

import torch

_NAME = "num_items_in_batch"
#: What a script divides by that averages micro-batches by hand.
_DIVISORS = {"gradient_accumulation_steps", "current_gradient_accumulation_steps"}


def ignores_number_of_items(model: Any, inputs: Mapping[str, Any], number: Any) -> bool | None:
    """Whether a model's loss is the same however many labels the whole batch has: found by trying.

    None where these rows do not tell: a loss of 0 or one that is no number is the same in any case.
    """
    flags = [(module, module.training) for module in model.modules()]
    model.eval()  # no dropout, and no running averages
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            one, other = (model(**{**inputs, _NAME: count}) for count in (number, number * 2))
            one, other = (found["loss"] if isinstance(found, dict) else found[0] for found in (one, other))
    finally:
        for module, training in flags:
            module.training = training
    return bool(torch.equal(one, other)) if torch.isfinite(one) and one != 0 else None


def never_looks_at_number_of_items(compute_loss: Callable[..., Any]) -> bool:
    """Whether a script's own compute_loss cannot have divided by the number of labels, since it never reads it.

    Then its loss is of its own rows, and accumulated micro-batches must be averaged; unless it does that itself.
    """
    code = getattr(compute_loss, "__code__", None)
    if code is None or _DIVISORS & _attributes(code):
        return False
    has_named = code.co_flags & 0x08  # **kwargs
    last = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 0x04)
    bearers = {_NAME} | ({code.co_varnames[last]} if has_named else set())
    read = {name for step in dis.get_instructions(code) for name in _names(step) if "LOAD" in step.opname}
    inner = {name for constant in code.co_consts if hasattr(constant, "co_freevars") for name in constant.co_freevars}
    return not bearers & (read | inner)


def _attributes(code: CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(_attributes, inner))


def _names(step: dis.Instruction) -> tuple[str, ...]:
    """The variables that an instruction loads; newer Pythons load two at once."""
    return step.argval if isinstance(step.argval, tuple) else (str(step.argval),)
