"""Steps that are recorded once for each shape and then started with a single call.

A fast GPU waits for Python most of the time when it is given one small kernel after the other. The first step of a
shape runs as plain calls; the second is recorded, whole: forward, backward, clipping and the optimiser.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from pippin.data.collate import Batch, Shapes
from pippin.training.step import EagerStep

Tensors = dict[str, torch.Tensor]


class CapturedStep(EagerStep):
    """Steps in the planned shapes are captured; any other runs as plain calls."""

    def __init__(self, *arguments: Any, shapes: Shapes):
        super().__init__(*arguments)
        self.shapes = shapes
        self.collate = replace(self.network.collate, shapes=shapes)
        self.record = self.backend.recorder()
        self.records: dict[tuple[int, ...], Any] = {}
        self.tried: set[tuple[int, ...]] = set()
        self.rates = [torch.zeros((), device=self.backend.device) for _ in self.optimiser.param_groups]
        self.was_replayed = False

    def gradients(self, micro_batches: list[Batch]) -> tuple[torch.Tensor, torch.Tensor]:
        shape = tuple(batch.tokens for batch in micro_batches)
        self.was_replayed = shape in self.tried and all(self._is_planned(batch) for batch in micro_batches)
        if not self.was_replayed:
            self.tried.add(shape)
            self.optimiser.zero_grad(set_to_none=True)  # a replay leaves its gradients behind
            return super().gradients(micro_batches)
        for rate, group in zip(self.rates, self.optimiser.param_groups, strict=True):
            rate.fill_(group["lr"])
        inputs = _named(micro_batches)
        if shape not in self.records:
            self.optimiser.zero_grad(set_to_none=True)
            self.records[shape] = self.record(lambda static: self._whole_step(static, micro_batches), inputs)
        loss, norm = self.records[shape](inputs)
        return loss, norm

    def update(self) -> None:
        if not self.was_replayed:
            super().update()
        elif not self.metric_decides_rate:
            self.schedule.step()

    def repeat(self, micro_batches: list[Batch]) -> None:
        self.records.clear()
        self.tried.clear()
        super().repeat(micro_batches)

    def _is_planned(self, batch: Batch) -> bool:
        return len(batch.rows) == self.shapes.rows and batch.tokens in self.shapes.capacities

    def _whole_step(self, static: Tensors, like: list[Batch]) -> tuple[torch.Tensor, torch.Tensor]:
        batches = [_with_inputs(batch, place, static) for place, batch in enumerate(like)]
        floats = [group["lr"] for group in self.optimiser.param_groups]
        self._set_rates(self.rates)
        loss, norm = super().gradients(batches)
        self.optimiser.step()
        self._set_rates(floats)
        return loss, norm

    def _set_rates(self, rates: list[Any]) -> None:
        for group, rate in zip(self.optimiser.param_groups, rates, strict=True):
            group["lr"] = rate


def _named(micro_batches: list[Batch]) -> Tensors:
    """Every tensor of the batches under a name of its own."""
    named: Tensors = {}
    for place, batch in enumerate(micro_batches):
        assert batch.packing is not None
        assert batch.labels is not None
        parts = {**batch.inputs, "labels": batch.labels, "starts": batch.packing.starts, "each": batch.packing.each}
        named |= {f"{place} {name}": tensor for name, tensor in parts.items()}
    return named


def _with_inputs(batch: Batch, place: int, static: Tensors) -> Batch:
    """The batch with its tensors in the places that every replay reads."""
    assert batch.packing is not None
    packing = replace(batch.packing, starts=static[f"{place} starts"], each=static[f"{place} each"])
    inputs = {name: static[f"{place} {name}"] for name in batch.inputs}
    return replace(batch, inputs=inputs, labels=static[f"{place} labels"], packing=packing)
