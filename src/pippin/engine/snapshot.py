"""Everything that the next step depends on, taken out of a running training and put back into a new one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pippin.engine.sharded import part_of, whole
from pippin.engine.steps.eager import EagerStep
from pippin.machine.drivers.base import Backend
from pippin.models.used_rows import UsedRows

State = dict[str, Any]


def optimiser_state(step: EagerStep) -> State:
    """Optimiser, schedule and scaler. The optimiser's tensors go by the names of their parameters."""
    names = _parameter_names(step)
    packed = step.optimiser.state_dict()
    return {
        "optimiser": {
            names[place]: _for_words(step, names[place], whole(state), UsedRows.expanded)
            for place, state in packed["state"].items()
        },
        "rates": [group["lr"] for group in packed["param_groups"]],
        "schedule": step.schedule.state_dict(),
        "scaler": step.scaler.state_dict() if step.scaler else None,
    }


def restore_optimiser(step: EagerStep, state: State, new_rates: bool) -> None:
    """Put the state back. With ``new_rates`` the schedule is the new one, at the old place."""
    places = {name: place for place, name in _parameter_names(step).items()}
    own = step.optimiser.state_dict()
    by_place = {
        places[name]: {
            key: part_of(tensor, step.parameters[places[name]])
            for key, tensor in _for_words(step, name, tensors, UsedRows.compacted).items()
        }
        for name, tensors in state["optimiser"].items()
    }
    # The groups stay those of now: their rates and decays may have been changed on purpose.
    step.optimiser.load_state_dict({"state": by_place, "param_groups": own["param_groups"]})
    if step.scaler and state["scaler"]:
        step.scaler.load_state_dict(state["scaler"])
    if new_rates and isinstance(step.schedule, torch.optim.lr_scheduler.LambdaLR):
        place = state["schedule"]["last_epoch"]
        pairs = zip(step.schedule.base_lrs, step.schedule.lr_lambdas, strict=True)
        rates = [base * share(place) for base, share in pairs]
        step.schedule.last_epoch, step.schedule._last_lr = place, rates
    else:
        step.schedule.load_state_dict(state["schedule"])
        rates = state["rates"]
    for group, rate in zip(step.optimiser.param_groups, rates, strict=True):
        group["lr"] = rate


def random_state(backend: Backend) -> State:
    python, numpy = random.getstate(), np.random.get_state(legacy=False)
    return {
        "python": python,
        "numpy": {**numpy, "state": {**numpy["state"], "key": numpy["state"]["key"].tolist()}},
        "torch": backend.random_state(),
    }


def restore_random_state(backend: Backend, state: State) -> None:
    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    numpy = state["numpy"]
    key = np.array(numpy["state"]["key"], dtype=np.uint32)
    np.random.set_state({**numpy, "state": {**numpy["state"], "key": key}})
    backend.set_random_state(state["torch"])


def _for_words(step: EagerStep, name: str, tensors: State, change: Callable[..., torch.Tensor]) -> State:
    """A parameter's state: expanded as if all word vectors were trained, as checkpoints know it, or compacted again."""
    module = step.model.get_submodule(name.rpartition(".")[0])
    if not isinstance(module, UsedRows):
        return tensors
    return {key: change(module, tensor) if tensor.ndim else tensor for key, tensor in tensors.items()}


def _parameter_names(step: EagerStep) -> dict[int, str]:
    """By the optimiser's own numbering."""
    names = {id(parameter): name for name, parameter in step.model.named_parameters()}
    return {place: names[id(parameter)] for place, parameter in enumerate(step.parameters)}
