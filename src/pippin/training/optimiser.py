"""Optimiser and schedule from the recipe's names."""

from __future__ import annotations

from typing import Any

import torch

from pippin.plan.plan import Plan
from pippin.recipe import Recipe


def make_optimiser(model: torch.nn.Module, recipe: Recipe, learning_rate: float) -> torch.optim.Optimizer:
    """The optimiser over the trainable parameters; biases and norms get no weight decay."""
    groups = _parameter_groups(model, recipe.weight_decay)
    if recipe.optim.startswith("adamw"):
        return torch.optim.AdamW(
            groups,
            lr=learning_rate,
            betas=(recipe.adam_beta1, recipe.adam_beta2),
            eps=recipe.adam_epsilon,
            fused=recipe.optim == "adamw_torch_fused",
        )
    if recipe.optim == "adafactor":
        from transformers.optimization import Adafactor

        return Adafactor(groups, lr=learning_rate, scale_parameter=False, relative_step=False)
    plain: dict[str, Any] = {
        "sgd": torch.optim.SGD,
        "adagrad": torch.optim.Adagrad,
        "rmsprop": torch.optim.RMSprop,
    }
    return plain[recipe.optim](groups, lr=learning_rate)


def make_schedule(optimiser: torch.optim.Optimizer, recipe: Recipe, plan: Plan) -> Any:
    """transformers' schedule of that name."""
    from transformers.optimization import get_scheduler

    return get_scheduler(
        recipe.lr_scheduler_type,
        optimiser,
        num_warmup_steps=plan.warmup_steps.value,
        num_training_steps=plan.steps.value,
        scheduler_specific_kwargs=recipe.lr_scheduler_kwargs,
    )


def _parameter_groups(model: torch.nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    without_decay = {
        id(parameter)
        for module in model.modules()
        for name, parameter in module.named_parameters(recurse=False)
        if name == "bias" or "norm" in type(module).__name__.lower()
    }
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return [
        {"params": [p for p in trainable if id(p) not in without_decay], "weight_decay": weight_decay},
        {"params": [p for p in trainable if id(p) in without_decay], "weight_decay": 0.0},
    ]
