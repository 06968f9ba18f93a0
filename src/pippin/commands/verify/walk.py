"""Where a device goes wrong: the first module that disagrees although it is given what the CPU's was given.

A module that only passes an error on agrees when it is fed with the CPU's input; one that makes it does not. So from
the model downwards the first inner module that is wrong alone is looked into, until none of its own is: the fault is in
its own code, or in an operator that it calls. For gradients the order is that of the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch

from pippin.commands.verify.calls import ModuleCall, calls_within, run_alone, tensors_in
from pippin.commands.verify.invariants import first_half, row_and_changed
from pippin.commands.verify.measurement import Experiment
from pippin.commands.verify.tolerance import (
    Tensors,
    allowed_error,
    allowed_errors,
    distance,
    distances,
    rounding,
    yardstick,
)
from pippin.commands.verify.verdict import AGAIN, EVALUATION, GRADIENTS, LATER, LOSS, MODES, PADDED, TRAINING, Finding
from pippin.data.collate import Collator
from pippin.machine.drivers.base import Backend

#: For each finding the walks that may explain it, in this order: wrong results lead to wrong gradients all the way.
_WALKS = {
    EVALUATION: ("evaluation",),
    PADDED: ("evaluation",),
    TRAINING: ("training",),
    LOSS: ("training",),
    MODES: ("evaluation", "training"),
    GRADIENTS: ("training", "gradients"),
    LATER: ("later tokens",),
    AGAIN: ("again",),
}


def located(
    findings: list[Finding], experiment: Experiment, cpu: Backend, device: Backend, precision: str
) -> list[Finding]:
    """The findings, those that disagree with the module where that begins; without one where it cannot be told."""
    if all(finding.agrees for finding in findings):
        return findings
    walk = cache(lambda: Walk(experiment, cpu, device, precision))

    @cache
    def first_wrong(name: str) -> str:
        try:
            return walk().first_wrong(name)
        except Exception:  # no memory, or a module that cannot be called alone: what was found stands, without a place
            return ""

    def module(finding: Finding) -> str:
        return next(filter(None, map(first_wrong, _WALKS.get(finding.name, ()))), "")

    return [finding if finding.agrees else replace(finding, module=module(finding)) for finding in findings]


class Walk:
    """The model on both devices, called as it is: with padded rows, and nothing of Pippin's between its modules."""

    def __init__(self, experiment: Experiment, cpu: Backend, device: Backend, precision: str):
        self.experiment, self.cpu, self.device, self.precision = experiment, cpu, device, precision
        self.on_cpu, self.on_device = experiment.placed(cpu), experiment.placed(device)
        for model in (self.on_cpu, self.on_device):
            if hasattr(model.config, "use_cache"):  # a cache of keys remembers earlier calls
                model.config.use_cache = False
        self.roots = [self._root(rows) for rows in experiment.batches]

    def first_wrong(self, walk: str) -> str:
        """The path of the first module that is wrong; empty where none is."""
        training = walk not in ("evaluation", "later tokens")
        for model in (self.on_cpu, self.on_device):
            model.train(training)
        with torch.inference_mode(not training):
            if walk == "later tokens":
                return self._first_that_sees_later_tokens()
            part = 1 if walk == "gradients" else 0
            judge = self._changes if walk == "again" else lambda call: self._differs(call, part)
            for root in self.roots:
                if judge(root):
                    return self._descend(root, judge, backwards=walk == "gradients") or type(self.on_cpu).__name__
        return ""

    def _descend(self, call: ModuleCall, judge: Callable[[ModuleCall], bool], backwards: bool) -> str:
        inner = self._within(call)
        for each in reversed(inner) if backwards else inner:
            if judge(each):
                return self._descend(each, judge, backwards)
        return call.path

    def _first_that_sees_later_tokens(self) -> str:
        twice = row_and_changed(self.experiment)
        length = int(twice.lengths[0])
        pair = tuple(ModuleCall("", (), Collator()(twice, np.array([row])).inputs) for row in (0, 1))
        path = ""
        while True:
            pairs = zip(*(self._within(call) for call in pair), strict=True)
            found = next((each for each in pairs if self._sees_later_tokens(each, length)), None)
            if found is None:
                return path
            pair, path = found, found[0].path

    def _sees_later_tokens(self, pair: tuple[ModuleCall, ModuleCall], length: int) -> bool:
        """Whether outputs for the first half of a row depend on its second half."""
        kept = first_half(length)
        allowed = allowed_errors(self._exact(pair[0]), self.precision, {"last rounding": 0.0})["last rounding"]
        before, after = (self._run(call)[0] for call in pair)
        return any(
            distance(after[name][:, :kept], tensor[:, :kept]) > allowed
            for name, tensor in before.items()
            if tensor.dim() > 2 and tensor.shape[1] == length
        )

    def _changes(self, call: ModuleCall) -> bool:
        first, second = ({**outputs, **gradients} for outputs, gradients in (self._run(call), self._run(call)))
        return self._is_beyond_rounding(call, second, first, first)

    def _differs(self, call: ModuleCall, part: int) -> bool:
        """Whether the outputs (part 0) or the gradients (part 1) are others than the CPU's."""
        wanted = run_alone(self.on_cpu, call, self.cpu, "fp32")[part]
        with rounding(yardstick(self.precision)):
            rounded = run_alone(self.on_cpu, call, self.cpu, "fp32")[part]
        return self._is_beyond_rounding(call, self._run(call)[part], wanted, rounded)

    def _is_beyond_rounding(self, call: ModuleCall, found: Tensors, wanted: Tensors, rounded: Tensors) -> bool:
        allowed = allowed_errors(self._exact(call), self.precision, distances(rounded, wanted))
        return any(error > allowed[name] for name, error in distances(found, wanted).items())

    def _exact(self, call: ModuleCall) -> float:
        """What a module may be off in fp32, by its own products or by the widest of its inputs."""
        given = tensors_in((call.arguments, call.named))
        width = max((tensor.shape[-1] for tensor in given if tensor.dim()), default=1)
        return allowed_error(self.on_cpu.get_submodule(call.path), width)

    def _run(self, call: ModuleCall) -> tuple[Tensors, Tensors]:
        return run_alone(self.on_device, call, self.device, self.precision)

    def _within(self, call: ModuleCall) -> list[ModuleCall]:
        """Recorded in the precision that the device has, so that inputs have the dtypes that they have there."""
        return calls_within(self.on_cpu, call, self.cpu, self.precision)

    def _root(self, rows: np.ndarray) -> ModuleCall:
        """The call of the model itself with a batch, and the gradient of its logits."""
        model: Any = self.on_cpu
        batch = Collator()(self.experiment.encoded, rows)
        assert batch.labels is not None
        logits = model(**batch.inputs).logits.detach().requires_grad_()
        (self.experiment.task.loss(logits, batch.labels) / self.experiment.count).backward()
        assert logits.grad is not None
        return ModuleCall("", (), batch.inputs, {0: logits.grad})
