"""Optimiser and schedule, by transformers' names."""

from __future__ import annotations

import inspect
import math
from typing import Any

import torch

from pippin.errors import PippinError
from pippin.models.dropout import sixteen_random_bits
from pippin.plan.plan import Plan
from pippin.plan.steps import CAPTURED

#: Bits of a float32 that a bfloat16 does not have.
_CUT_OFF = 16


class HalfStateAdamW(torch.optim.Optimizer):
    """AdamW with its moments in bfloat16: half the memory of its state, for a result that differs a little.

    It computes in fp32, as AdamW does; only what stays between two steps is rounded.
    The second moment changes by a thousandth in a step, less than bfloat16 can tell, so that rounding to the nearest
    would leave it where it is for ever. It is rounded up or down at random instead, right in the mean. The first moment
    changes by a tenth, and is rounded to the nearest.
    """

    def __init__(
        self,
        groups: list[dict[str, Any]],
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        super().__init__(groups, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        assert closure is None
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        for state in self.state.values():  # torch makes them as precise as the weights
            state.update({name: state[name].bfloat16() for name in ("exp_avg", "exp_avg_sq")})

    def _update(self, parameter: torch.Tensor, gradient: torch.Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros(())
            state["exp_avg"] = torch.zeros_like(parameter, dtype=torch.bfloat16)
            state["exp_avg_sq"] = torch.zeros_like(parameter, dtype=torch.bfloat16)
        state["step"] += 1
        number, (first, second) = float(state["step"]), group["betas"]
        mean = state["exp_avg"].float().lerp_(gradient, 1 - first)
        square = state["exp_avg_sq"].float().mul_(second).addcmul_(gradient, gradient, value=1 - second)
        state["exp_avg"].copy_(mean)
        state["exp_avg_sq"].copy_(rounded_at_random(square))
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        scale = square.sqrt_().div_(math.sqrt(1 - second**number)).add_(group["eps"])
        parameter.addcdiv_(mean, scale, value=-group["lr"] / (1 - first**number))


def rounded_at_random(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers from 0 up in bfloat16: each is one of its two neighbours, with chances that make it right in the mean."""
    bits = tensor.view(torch.int32)
    return _draws(bits).add_(bits).bitwise_and_(-1 << _CUT_OFF).view(torch.float32).bfloat16()


def _draws(like: torch.Tensor) -> torch.Tensor:
    """A number of sixteen random bits for each element."""
    if like.device.type != "cpu":
        return torch.randint_like(like, 1 << _CUT_OFF)
    return sixteen_random_bits(like.shape).to(torch.int32).bitwise_and_((1 << _CUT_OFF) - 1)


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
    betas, epsilon = (plan.rates.adam_beta1, plan.rates.adam_beta2), plan.rates.adam_epsilon
    if plan.rates.optim_state == "bf16":
        return HalfStateAdamW(groups, learning_rate, betas, epsilon)
    if plan.rates.optim.startswith("adamw"):
        is_fused, is_captured = plan.rates.optim == "adamw_torch_fused", plan.execution.step.value == CAPTURED
        return PlainAdamW(groups, learning_rate, betas, epsilon, fused=is_fused, capturable=is_captured)
    if plan.rates.optim == "adafactor":
        from transformers.optimization import Adafactor

        return Adafactor(groups, lr=learning_rate, scale_parameter=False, relative_step=False)
    plain: dict[str, Any] = {"sgd": torch.optim.SGD, "adagrad": torch.optim.Adagrad, "rmsprop": torch.optim.RMSprop}
    return plain[plan.rates.optim](groups, lr=learning_rate)


def make_schedule(optimiser: torch.optim.Optimizer, plan: Plan) -> Any:
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
        given = plan.rates.lr_scheduler_kwargs
        chosen = plan.rates.lr_scheduler_type + (f" with --lr_scheduler_kwargs {given}" if given else "")
        raise PippinError(f"--lr_scheduler_type {chosen} does not work: {error}.") from None


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
