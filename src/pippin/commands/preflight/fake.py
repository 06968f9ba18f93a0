"""A training step with fake tensors: the job's real model and code, on tensors that have shapes and no contents.

Nothing of the model's size is allocated, and the target's GPU need not be here. What comes out is what the step would
hold at its worst moment, by what it is for, and how much it computes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from pippin.commands.preflight.recorder import OperatorRecorder, naming_modules
from pippin.data.collate import Batch
from pippin.data.encoding import Encoded
from pippin.engine.network import network_for, prepare_weights
from pippin.machine.drivers import get_backend
from pippin.machine.drivers.base import Backend
from pippin.machine.traits import CPU, DeviceTraits
from pippin.models.families import family_of
from pippin.models.freezing import FrozenPart
from pippin.models.skeleton import make_skeleton, replace_tensors
from pippin.models.training_mode import recompute_activations
from pippin.models.used_rows import UsedRows, train_used_rows
from pippin.plan.fits import IN_BACKWARD, RECOMPUTED
from pippin.plan.frozen import NOTHING, can_keep_states, frozen_layers
from pippin.plan.plan import Plan
from pippin.tasks.base import Task

WEIGHTS, GRADIENTS, WORKSPACE, ATTENTION = "weights", "gradients", "workspace", "attention"
_LAYER = re.compile(r"\.(\d+)(?:\.|$)")


@dataclass(frozen=True)
class FakeRun:
    """What one piece of work takes."""

    peak: int
    """Bytes held at most, weights among them."""
    parts: dict[str, int]
    """The same by what they are for."""
    flops: int
    moved: int
    """Bytes read and written."""
    doubles: tuple[str, ...]
    """Operators that make float64, which some devices do not have."""


class FakeDriver(Backend):
    """Stands for a device: its habits, on tensors without contents."""

    def __init__(self, traits: DeviceTraits):
        driver = get_backend(traits.kind)
        super().__init__()
        self.traits = traits
        self.kind = traits.kind if driver.takes_fake_tensors and driver.devices() else CPU

    def attending(self) -> AbstractContextManager[Any]:
        """Attention as the device runs it where it learns."""
        if self.traits.keeps_scores != "always":
            return nullcontext()
        from torch.nn.attention import SDPBackend, sdpa_kernel

        return sdpa_kernel(SDPBackend.MATH)


class FakeJob:
    """A job's model of fake tensors, ready to be asked about batches of its rows."""

    def __init__(
        self,
        plan: Plan,
        task: Task,
        config: Any,
        encoded: Encoded,
        traits: DeviceTraits,
        adapters: dict[str, Any] | None = None,
    ):
        """``adapters``: the settings of those that the model comes with."""
        self.plan, self.task, self.encoded = plan, task, encoded
        self.backend = FakeDriver(traits)
        execution = plan.execution
        model = make_skeleton(config, execution.attention, task.auto_model, execution.kept.value, adapters)
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        prepare_weights(plan, model)
        with self.mode:
            replace_tensors(model, self.backend.device)
            self.network = network_for(plan, model, self.backend, plan.execution.precision.value, task.reads)
            self.frozen = None
            if plan.execution.frozen.value != NOTHING:
                every_token = task.reads == "targets"
                self.frozen = FrozenPart(model, frozen_layers(plan.execution.frozen.value), every_token)
            if plan.execution.word_vectors.value:
                train_used_rows(model, np.append(encoded.tokens, encoded.pad_token))
            if plan.memory.activations.value == RECOMPUTED:
                recompute_activations(model, plan.memory.gradient_checkpointing_kwargs, self.backend)
        self.model = model

    @property
    def trained(self) -> int:
        """Parameters that are trained."""
        return sum(parameter.numel() for parameter in self.model.parameters() if parameter.requires_grad)

    @property
    def largest_layer(self) -> int:
        """Parameters of the largest layer."""
        lists = (module for module in self.model.modules() if isinstance(module, torch.nn.ModuleList))
        return max((sum(map(torch.numel, layer.parameters())) for layers in lists for layer in layers), default=0)

    def training_step(self, micro_batches: Sequence[np.ndarray]) -> FakeRun:
        """Forward and backward of these rows, micro-batch by micro-batch; the optimiser's part is not in it."""
        self.model.train()
        with self._recorded() as recorder:

            def arrived(parameter: torch.Tensor) -> None:
                assert parameter.grad is not None
                recorder.add(parameter.grad, GRADIENTS)
                if self.plan.memory.updates.value == IN_BACKWARD:
                    parameter.grad = None

            hooks = [
                parameter.register_post_accumulate_grad_hook(arrived)
                for parameter in self.model.parameters()
                if parameter.requires_grad
            ]
            for rows in micro_batches:
                batch = self._batch(rows)
                assert batch.labels is not None
                self.task.loss(self.network.logits(batch), self.backend.to_device(batch.labels)).backward()
            for hook in hooks:
                hook.remove()
        for parameter in self.model.parameters():
            parameter.grad = None
        return _answer(recorder)

    def evaluation(self, rows: np.ndarray) -> FakeRun:
        """One batch without gradients."""
        self.model.eval()
        with torch.no_grad(), self._recorded() as recorder:
            self.network.logits(self.network.collate(self.encoded, rows))
        return _answer(recorder)

    def _batch(self, rows: np.ndarray) -> Batch:
        """With the states of a frozen part where they are computed apart from the step."""
        batch = self.network.collate(self.encoded, rows)
        family = family_of(self.model.config)[0]
        if self.frozen is None or not can_keep_states(family, self.encoded.pad_left, self.task.reads):
            return batch
        width = self.model.config.hidden_size
        self.network.frozen = self.frozen
        if self.frozen.one_vector_a_row:
            ones = {name: torch.ones(len(rows), 1, dtype=torch.int64) for name in ("input_ids", "attention_mask")}
            states = torch.empty(len(rows), width, device=self.backend.device)
            return Batch(ones, batch.labels, rows, hidden_states=states)
        shape = batch.inputs["input_ids"].shape
        return replace(batch, hidden_states=torch.empty(*shape, width, device=self.backend.device))

    @contextmanager
    def _recorded(self) -> Iterator[OperatorRecorder]:
        with self.mode, self.backend.attending(), naming_modules(self.model) as running:
            recorder = OperatorRecorder(self.backend.kind, lambda tensor: _label(running, tensor))
            for tensor in (*self.model.parameters(), *self.model.buffers()):
                recorder.add(tensor, WEIGHTS)
            for module in self.model.modules():
                if isinstance(module, UsedRows):
                    recorder.add(module.others, WEIGHTS)
            with recorder:
                yield recorder


def _label(running: list[str], tensor: torch.Tensor) -> str:
    """What a tensor is for, by the modules that are running when it is made."""
    if not running:
        return WORKSPACE if torch._C._current_autograd_node() is not None else "head"
    name = running[-1]
    layer = _LAYER.search(name)
    if layer is None:
        return "embeddings" if "embed" in name else "head"
    is_square = tensor.dim() >= 3 and tensor.shape[-1] == tensor.shape[-2] > 1
    if is_square and "att" in name.lower():
        return f"{ATTENTION} {int(layer[1]) + 1}"
    return f"layer {int(layer[1]) + 1}"


def _answer(recorder: OperatorRecorder) -> FakeRun:
    parts = {name: size for name, size in recorder.at_peak.items() if size > 0}
    return FakeRun(recorder.peak, parts, recorder.flops, recorder.moved, tuple(recorder.doubles))


def summed(parts: dict[str, int]) -> dict[str, int]:
    """Parts by kind: all layers together, and all attention scores."""
    found: Counter[str] = Counter()
    for name, size in parts.items():
        kind, _, number = name.partition(" ")
        found[f"{kind} scores" if kind == ATTENTION else f"{kind}s" if number.isdigit() else name] += size
    return dict(found)
