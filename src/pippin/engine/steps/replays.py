"""Work on batches of planned shapes, recorded on the device and replayed. Every other batch is left to the caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from pippin.data.collate import Batch, Shapes
from pippin.machine.drivers.base import Backend

Tensors = dict[str, torch.Tensor]
#: Does the work on batches whose tensors stay in their places, and returns tensors that do too.
Work = Callable[[list[Batch]], Any]


class Replays:
    """The first batches of a shape are not replayed: kernels are chosen and memory is found while they run."""

    def __init__(self, backend: Backend, shapes: Shapes):
        self.shapes = shapes
        self.record = backend.recorder()
        self.records: dict[tuple[int, ...], Any] = {}
        self.tried: set[tuple[int, ...]] = set()

    def can(self, batches: list[Batch]) -> bool:
        """Whether this work can be replayed; if not, and the shape is a planned one, it can the next time."""
        if not self.holds(batches):
            return False
        shape = _shape(batches)
        known = shape in self.tried
        self.tried.add(shape)
        return known

    def holds(self, batches: list[Batch]) -> bool:
        """Whether these have planned shapes."""
        return all(self.shapes.holds(batch) for batch in batches)

    def __call__(self, batches: list[Batch], work: Work) -> Any:
        """Replay the work, which is recorded where it was not yet; what it returns is overwritten by the next call."""
        shape, inputs = _shape(batches), _named(batches)
        if shape not in self.records:
            places = list(enumerate(batches))
            self.records[shape] = self.record(
                lambda static: work([_with_inputs(batch, place, static) for place, batch in places]), inputs
            )
        return self.records[shape](inputs)

    def forget(self) -> None:
        self.records.clear()
        self.tried.clear()


def _shape(batches: list[Batch]) -> tuple[int, ...]:
    return tuple(batch.tokens for batch in batches)


def _named(batches: list[Batch]) -> Tensors:
    """Every tensor of the batches under a name of its own."""
    named: Tensors = {}
    for place, batch in enumerate(batches):
        assert batch.packing is not None
        parts = {**batch.inputs, "starts": batch.packing.starts, "each": batch.packing.each}
        if batch.packing.lasts is not None:
            parts["lasts"] = batch.packing.lasts
        if batch.labels is not None:
            parts["labels"] = batch.labels
        if batch.targets is not None:
            parts["targets"] = batch.targets
        named |= {f"{place} {name}": tensor for name, tensor in parts.items()}
    return named


def _with_inputs(batch: Batch, place: int, static: Tensors) -> Batch:
    """The batch with its tensors in the places that every replay reads."""
    assert batch.packing is not None
    starts, each, lasts = (static.get(f"{place} {name}") for name in ("starts", "each", "lasts"))
    assert starts is not None
    assert each is not None
    packing = replace(batch.packing, starts=starts, each=each, lasts=lasts)
    inputs = {name: static[f"{place} {name}"] for name in batch.inputs}
    labels, targets = (static.get(f"{place} {name}") for name in ("labels", "targets"))
    return replace(batch, inputs=inputs, labels=labels, targets=targets, packing=packing)
