"""Optimiser and schedule, by transformers' names."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from pippin.engine.half_state import HalfStateAdamW
from pippin.errors import PippinError
from pippin.plan.plan import Plan
from pippin.plan.steps import CAPTURED


class PlainAdamW(torch.optim.AdamW):
    """AdamW without the wrappers that import torch's compiler when they are first called, which takes a second.

    They only keep the compiler out of these methods, and Pippin compiles none of them. Where a release of torch wraps
    them otherwise, unwrapping changes nothing.
    """

    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)
    state_dict = inspect.unwrap(torch.optim.Optimizer.state_dict)
    load_state_dict = inspect.unwrap(torch.optim.Optimizer.load_state_dict)
    step = torch.no_grad()(inspect.unwrap(torch.optim.AdamW.step))


def make_optimiser(model: torch.nn.Module, plan: Plan) -> torch.optim.Optimizer:
    """The optimiser over the trainable parameters; biases and norms get no weight decay, the head its own rate."""
    learning_rate = plan.rates.learning_rate.value
    groups = _parameter_groups(model, plan.rates.weight_decay, learning_rate, plan.rates.head_learning_rate.value)
    if plan.rates.optim_state == "bf16":
        betas = (plan.rates.adam_beta1, plan.rates.adam_beta2)
        return HalfStateAdamW(groups, learning_rate, betas, plan.rates.adam_epsilon)
    if plan.rates.optim.startswith("adamw"):
        return PlainAdamW(
            groups,
            lr=learning_rate,
            betas=(plan.rates.adam_beta1, plan.rates.adam_beta2),
            eps=plan.rates.adam_epsilon,
            fused=plan.rates.optim == "adamw_torch_fused",
            capturable=plan.execution.step.value == CAPTURED,
        )
    if plan.rates.optim == "adafactor":
        from transformers.optimization import Adafactor

        return Adafactor(groups, lr=learning_rate, scale_parameter=False, relative_step=False)
    plain: dict[str, Any] = {
        "sgd": torch.optim.SGD,
        "adagrad": torch.optim.Adagrad,
        "rmsprop": torch.optim.RMSprop,
    }
    return plain[plan.rates.optim](groups, lr=learning_rate)


def make_schedule(optimiser: torch.optim.Optimizer, plan: Plan) -> Any:
    """transformers' schedule of that name."""
    if plan.rates.lr_scheduler_type == "linear" and not plan.rates.lr_scheduler_kwargs:
        return _linear(optimiser, plan.rates.warmup_steps.value, plan.schedule.steps.value)
    from transformers.optimization import get_scheduler

    settings = dict(plan.rates.lr_scheduler_kwargs or {})
    if plan.rates.lr_scheduler_type == "reduce_lr_on_plateau":
        settings.setdefault("mode", "max" if plan.schedule.greater_is_better else "min")
    try:
        return get_scheduler(
            plan.rates.lr_scheduler_type,
            optimiser,
            num_warmup_steps=plan.rates.warmup_steps.value,
            num_training_steps=plan.schedule.steps.value,
            scheduler_specific_kwargs=settings,
        )
    except (TypeError, ValueError) as error:
        arguments = (
            f" with --lr_scheduler_kwargs {plan.rates.lr_scheduler_kwargs}" if plan.rates.lr_scheduler_kwargs else ""
        )
        raise PippinError(
            f"--lr_scheduler_type {plan.rates.lr_scheduler_type}{arguments} is refused: {error}."
        ) from None


def _linear(optimiser: torch.optim.Optimizer, warmup: int, steps: int) -> torch.optim.lr_scheduler.LambdaLR:
    """The same shares as transformers', whose import takes a second."""

    def share(step: int) -> float:
        return step / warmup if step < warmup else max(0.0, (steps - step) / max(1, steps - warmup))

    return torch.optim.lr_scheduler.LambdaLR(optimiser, share)


def _parameter_groups(
    model: torch.nn.Module, weight_decay: float, learning_rate: float, head_rate: float
) -> list[dict[str, Any]]:
    """Body and head, each with and without decay; the body's first, whose rate is the one that is logged."""
    core = getattr(model, getattr(model, "base_model_prefix", ""), model)
    body = {id(parameter) for parameter in core.parameters()}
    without_decay = {
        id(parameter)
        for module in model.modules()
        for name, parameter in module.named_parameters(recurse=False)
        if name == "bias" or "norm" in type(module).__name__.lower()
    }
    groups = []
    for in_body, rate in ((True, learning_rate), (False, head_rate)):
        for decays in (True, False):
            chosen = [
                parameter
                for parameter in model.parameters()
                if parameter.requires_grad
                and (id(parameter) in body) == in_body
                and (id(parameter) not in without_decay) == decays
            ]
            if chosen:
                groups.append({"params": chosen, "lr": rate, "weight_decay": weight_decay if decays else 0.0})
    return groups
