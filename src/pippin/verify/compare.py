"""One model on two devices: the same weights and rows, and how far the numbers are apart."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from pippin.data.collate import Batch
from pippin.data.encoding import Encoded
from pippin.machine.backends.base import Backend
from pippin.models.network import Network
from pippin.training.losses import Loss
from pippin.verify.tolerance import allowed_error, allowed_update_error
from pippin.verify.verdict import Finding

Tensors = dict[str, torch.Tensor]

#: Training in fp16 scales its loss, or small gradients would be lost. This is far from overflow, and exact in itself.
_FP16_SCALE = 4096.0


@dataclass(frozen=True)
class Experiment:
    """What is done on each device. The model has no dropout, so that nothing is left to chance."""

    model: torch.nn.Module
    encoded: Encoded
    batches: Sequence[np.ndarray]
    """Row numbers."""
    loss: Loss
    make_optimiser: Callable[[torch.nn.Module], torch.optim.Optimizer]
    make_network: Callable[[torch.nn.Module, Backend, str], Network] = Network
    """The device's; on the CPU the model is called as it is."""

    @property
    def rows(self) -> int:
        return sum(map(len, self.batches))


@dataclass(frozen=True)
class Trace:
    """What one device computed, on the CPU and in fp32."""

    evaluated: torch.Tensor
    """Logits without gradients."""
    logits: torch.Tensor
    """The same in training, where attention may run other code."""
    loss: torch.Tensor
    gradients: Tensors
    weights: Tensors
    """After one step from the gradients that were given."""


def compare(experiment: Experiment, cpu: Backend, device: Backend, precision: str) -> list[Finding]:
    """The device in this precision against the CPU in fp32."""
    wanted = trace(replace(experiment, make_network=Network), cpu, "fp32", None)
    found = trace(experiment, device, precision, wanted.gradients)
    again = trace(experiment, device, precision, wanted.gradients)
    allowed, after_step = allowed_error(experiment.model, precision), allowed_update_error()
    return [
        Finding("logits in evaluation", _error(found.evaluated, wanted.evaluated), allowed),
        Finding("logits in training", _error(found.logits, wanted.logits), allowed),
        Finding("evaluation against training", _error(found.evaluated, found.logits), allowed),
        Finding("loss", _error(found.loss, wanted.loss), allowed),
        _worst("gradients", found.gradients, wanted.gradients, allowed),
        _worst("weights after a step", found.weights, wanted.weights, after_step),
        _worst("a second time", _parts(again), _parts(found), allowed),
    ]


def trace(experiment: Experiment, backend: Backend, precision: str, gradients: Tensors | None) -> Trace:
    """Evaluate, then train one step from `gradients` (None: from its own), on a copy of the model."""
    model = backend.place(copy.deepcopy(experiment.model))
    backend.guard(model)
    network = experiment.make_network(model, backend, precision)
    batches = [network.collate(experiment.encoded, rows) for rows in experiment.batches]
    model.eval()
    with torch.inference_mode():
        evaluated = torch.cat([_in_order(network.logits(batch), batch) for batch in batches])
    model.train()
    optimiser = experiment.make_optimiser(model)
    logits, loss = _forward_and_backward(experiment, network, batches)
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.grad is not None}
    own = {name: _to_cpu(parameter.grad) for name, parameter in trained.items()}
    if gradients is not None:
        for name, parameter in trained.items():
            parameter.grad = backend.to_device(gradients[name])
    optimiser.step()
    return Trace(evaluated, logits, loss, own, {name: _to_cpu(parameter) for name, parameter in trained.items()})


def _forward_and_backward(
    experiment: Experiment, network: Network, batches: Sequence[Batch]
) -> tuple[torch.Tensor, torch.Tensor]:
    scale = _FP16_SCALE if network.precision == "fp16" else 1.0
    logits, total = [], torch.zeros(())
    for batch in batches:
        assert batch.labels is not None
        out = network.logits(batch)
        loss = experiment.loss(out, network.backend.to_device(batch.labels)) / experiment.rows
        (loss * scale).backward()
        logits.append(_in_order(out, batch))
        total = total + _to_cpu(loss)
    for parameter in network.model.parameters():
        if parameter.grad is not None and scale != 1.0:
            parameter.grad /= scale
    return torch.cat(logits), total


def _in_order(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """By row number: a packed batch has its rows in another order than a padded one."""
    return _to_cpu(logits)[torch.from_numpy(np.argsort(batch.rows))]


def _to_cpu(tensor: torch.Tensor | None) -> torch.Tensor:
    assert tensor is not None
    return tensor.detach().float().cpu().clone()


def _error(found: torch.Tensor, wanted: torch.Tensor, size: float | None = None) -> float:
    """The root mean square of the difference by that of what was wanted."""
    if not bool(torch.isfinite(found).all() and torch.isfinite(wanted).all()):
        return float("inf")
    return _size(found.double() - wanted.double()) / max(_size(wanted) if size is None else size, 1e-30)


def _size(tensor: torch.Tensor) -> float:
    return float(tensor.double().square().mean().sqrt())


def _sizes(tensors: Tensors) -> dict[str, float]:
    """By name, the largest size of the tensors in the same module.

    A bias can have a gradient of nearly nothing, left over when large terms cancel (that of attention's keys always
    has); then its rounding errors are as large as those of the weights beside it.
    """
    by_module: dict[str, float] = {}
    for name, tensor in tensors.items():
        module = name.rpartition(".")[0]
        by_module[module] = max(by_module.get(module, 0.0), _size(tensor))
    return {name: by_module[name.rpartition(".")[0]] for name in tensors}


def _parts(found: Trace) -> Tensors:
    """All that two runs on one device must agree in."""
    outputs = {"logits in evaluation": found.evaluated, "logits in training": found.logits, "loss": found.loss}
    return {**outputs, **found.gradients}


def _worst(name: str, found: Tensors, wanted: Tensors, allowed: float) -> Finding:
    if missing := wanted.keys() - found.keys():
        return Finding(name, float("inf"), allowed, min(missing))
    sizes = _sizes(wanted)
    errors = {each: _error(found[each], wanted[each], sizes[each]) for each in wanted}
    worst = max(errors, key=lambda each: errors[each])
    return Finding(name, errors[worst], allowed, worst)
