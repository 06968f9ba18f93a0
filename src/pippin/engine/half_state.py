"""AdamW that keeps its moments in bfloat16: half the memory of its state, for a result that differs a little."""

from __future__ import annotations

import math
from typing import Any

import torch

from pippin.models.dropout import sixteen_random_bits

#: Bits of a float32 that a bfloat16 does not have.
_CUT_OFF = 16


class HalfStateAdamW(torch.optim.Optimizer):
    """Computes in fp32, as AdamW does; only what stays between two steps is rounded.

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
