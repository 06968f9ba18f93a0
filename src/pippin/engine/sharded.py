"""A model of which every process holds a part: torch's fully_shard (FSDP2).

Weights, gradients and the optimiser's state are spread over the group, and each layer is put together only while it
computes. All processes must therefore call the model equally often. Checkpoints and the finished model are ordinary
ones: what is saved is made whole first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from pippin.engine.fitting import FittingStep
from pippin.engine.group import Group
from pippin.engine.shards import count_of


def shard(model: torch.nn.Module, device: torch.device, size: int) -> None:
    """Spread a model that every process has in CPU memory over all of them, layer by layer, onto the device."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device.type, (size,))
    for layers in (module for module in model.modules() if isinstance(module, torch.nn.ModuleList)):
        for layer in layers:
            fully_shard(layer, mesh=mesh)
    # After an evaluation no backward pass would take the rest apart again.
    fully_shard(model, mesh=mesh, reshard_after_forward=True)


def is_sharded(model: torch.nn.Module) -> bool:
    return any(_is_part(parameter) for parameter in model.parameters())


def whole(found: Any) -> Any:
    """A tensor, or all in a dict or list, put together on the CPU; every process must ask for the same."""
    if isinstance(found, Mapping):
        return {name: whole(each) for name, each in found.items()}
    if isinstance(found, list):
        return [whole(each) for each in found]
    return found.full_tensor().cpu() if _is_part(found) else found


def part_of(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """This process's part of a whole tensor that all have, spread like another one."""
    if not _is_part(like) or not tensor.ndim:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(tensor.to(like.device), like.device_mesh, like.placements, src_data_rank=None)


def put_weights(model: torch.nn.Module, weights: Mapping[str, torch.Tensor]) -> None:
    """Give each process its part of whole weights."""
    with torch.no_grad():
        for name, own in model.state_dict().items():
            own.copy_(part_of(weights[name], own))


def _is_part(tensor: Any) -> bool:
    return isinstance(tensor, torch.Tensor) and hasattr(tensor, "full_tensor")


class ShardedStep(FittingStep):
    """Each process takes its part of a step's rows, in as many micro-batches as all the others."""

    def __init__(self, *arguments: Any, group: Group, **settings: Any):
        super().__init__(*arguments, **settings)
        self.group = group
        self.step.clips_in_step = False  # the norm is a sum over all parts

    def _gradients(self, rows: np.ndarray, number: int) -> tuple[torch.Tensor, torch.Tensor, int]:
        own = np.array_split(rows, self.group.size)[self.group.rank]
        batches = self._equally_many(own, rows)
        # fully_shard takes the mean over the processes, and a sum is wanted.
        count = count_of(self.step.task, self.encoded, rows) / self.group.size
        loss = torch.zeros((), device=self.step.backend.device)
        for part, is_counted in batches:
            batch = self.step.collate(self.encoded, part)
            loss += self.step.accumulate(batch, count if is_counted else float("inf"))
        norm = self.step.clip()
        tokens = int(self.encoded.lengths[rows].sum())
        return self.group.sum(loss / self.group.size)(), norm.full_tensor() if _is_part(norm) else norm, tokens

    def _equally_many(self, own: np.ndarray, rows: np.ndarray) -> list[tuple[np.ndarray, bool]]:
        """The micro-batches of this process, and whether they count: one that has too few rows runs some in vain."""
        wanted = self.group.agree(len(self._parts(own)) if len(own) else 1)
        parts = [part for part in np.array_split(own, wanted) if len(part)]
        return [(part, True) for part in parts] + [(rows[:1], False)] * (wanted - len(parts))

    def _take_less(self, rows: np.ndarray, number: int) -> bool:
        """The others are in the middle of the same step and wait for this process's part."""
        return False
