"""One model on one device: what it computes for some rows, and what a step makes of its weights."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from pippin.commands.verify.tolerance import Tensors
from pippin.commands.verify.verdict import EVALUATION, LOSS, TRAINING
from pippin.data.collate import NO_LABEL, Batch, labels_of, token_mask, tokens_of_rows
from pippin.data.encoding import Encoded
from pippin.machine.drivers.base import Backend
from pippin.models.network import Network
from pippin.tasks.base import Task

#: Training in fp16 scales its loss, or small gradients would be lost. This is far from overflow, and exact in itself.
_FP16_SCALE = 4096.0


@dataclass(frozen=True)
class Experiment:
    """What is done on each device. The model has no dropout, so that nothing is left to chance."""

    model: torch.nn.Module
    encoded: Encoded
    batches: Sequence[np.ndarray]
    """Row numbers."""
    task: Task
    make_optimiser: Callable[[torch.nn.Module], torch.optim.Optimizer]
    make_network: Callable[[torch.nn.Module, Backend, str], Network] = Network
    """The device's."""
    make_plain: Callable[[torch.nn.Module, Backend], Network] = Network
    """The CPU's, where the model is called as it is."""

    @property
    def rows(self) -> int:
        return sum(map(len, self.batches))

    @cached_property
    def count(self) -> float:
        """What the loss of all batches is divided by."""
        labels = (labels_of(self.encoded, rows) for rows in self.batches)
        return sum(self.task.count(each) for each in labels if each is not None)

    def lines_of(self, places: np.ndarray, lines: int) -> np.ndarray:
        """How many lines of logits each of these rows has, of so many: one, or one for each token, or each label."""
        if len(places) == lines:
            return np.ones(len(places), np.int64)
        lengths = self.encoded.lengths
        if lengths[places].sum() == lines or self.encoded.labels is None:
            return lengths[places]
        has_label = np.concatenate([[0], np.cumsum(self.encoded.labels != NO_LABEL)])
        return np.diff(has_label[self.encoded.offsets])[places]

    def placed(self, backend: Backend) -> torch.nn.Module:
        """A copy of the model on a device, with the device's guards."""
        model = backend.place(copy.deepcopy(self.model))
        backend.guard(model)
        return model


@dataclass(frozen=True)
class Measurement:
    """What one device computed, on the CPU and in fp32."""

    evaluated: torch.Tensor
    """Logits without gradients."""
    logits: torch.Tensor
    """The same in training, where attention may run other code."""
    loss: torch.Tensor
    gradients: Tensors

    @property
    def outputs(self) -> Tensors:
        return {EVALUATION: self.evaluated, TRAINING: self.logits, LOSS: self.loss}

    @property
    def all(self) -> Tensors:
        return {**self.outputs, **self.gradients}


def measure(experiment: Experiment, network: Network) -> Measurement:
    """Evaluate, then train up to the gradients, which stay in the model."""
    model = network.model
    model.zero_grad(set_to_none=True)
    batches = [network.collate(experiment.encoded, rows) for rows in experiment.batches]
    model.eval()
    with torch.inference_mode():
        evaluated = torch.cat([in_order(network.logits(batch), batch) for batch in batches])
    model.train()
    scale = loss_scale(network.precision)
    logits, total = [], torch.zeros(())
    for batch in batches:
        assert batch.labels is not None
        out = network.logits(batch)
        loss = experiment.task.loss(out, network.backend.to_device(batch.labels)) / experiment.count
        (loss * scale).backward()
        logits.append(in_order(out, batch))
        total = total + to_cpu(loss)
    trained = {name: p for name, p in model.named_parameters() if p.grad is not None}
    for parameter in trained.values():
        if scale != 1.0:
            parameter.grad /= scale
    gradients = {name: to_cpu(p.grad) for name, p in trained.items()}
    return Measurement(evaluated, torch.cat(logits), total, gradients)


def step(experiment: Experiment, network: Network, gradients: Tensors) -> Tensors:
    optimiser = experiment.make_optimiser(network.model)
    trained = {name: parameter for name, parameter in network.model.named_parameters() if name in gradients}
    for name, parameter in trained.items():
        parameter.grad = network.backend.to_device(gradients[name])
    optimiser.step()
    return {name: to_cpu(parameter) for name, parameter in trained.items()}


def loss_scale(precision: str) -> float:
    return _FP16_SCALE if precision == "fp16" else 1.0


def in_order(logits: torch.Tensor, batch: Batch) -> torch.Tensor:
    """By row number: a packed batch has its rows in another order than a padded one."""
    return torch.cat(by_row(logits, batch))


def by_row(logits: torch.Tensor, batch: Batch) -> list[torch.Tensor]:
    """In the order of the rows' numbers: the one line of each, or a line for each of its tokens."""
    lines, lengths = to_cpu(logits), [1] * len(batch.rows)
    if batch.targets is not None:
        lengths = _targets_of_rows(batch)
    elif lines.ndim == 3:
        lines = lines.flatten(0, 1)[torch.from_numpy(token_mask(batch, len(batch.rows)))]
        lengths = tokens_of_rows(batch).tolist()
    rows = lines.split(lengths)
    return [rows[place] for place in np.argsort(batch.rows)]


def _targets_of_rows(batch: Batch) -> list[int]:
    """How many tokens of each row have a label."""
    assert batch.targets is not None
    if batch.packing is not None:
        starts = batch.packing.starts[: batch.packing.rows + 1].long().cpu()
    else:
        starts = torch.arange(len(batch.rows) + 1) * batch.inputs["input_ids"].shape[1]
    return torch.searchsorted(batch.targets.cpu(), starts).diff().tolist()


def to_cpu(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in fp32 on the CPU."""
    return tensor.detach().float().cpu().clone()
