"""Nested plain data with tensors in it, as JSON and safetensors; and back, bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_map

from pippin.errors import PippinError

_TENSOR, _KEYS = "$tensor", "$keys"
DATA, TENSORS = "state.json", "optimizer.safetensors"


def write(folder: Path, state: dict[str, Any]) -> None:
    from safetensors.torch import save_file

    tensors: dict[str, torch.Tensor] = {}
    data = _pack(state, "", tensors)
    save_file(_apart(tensors) or {"nothing": torch.zeros(0)}, folder / TENSORS)
    (folder / DATA).write_text(json.dumps(data), encoding="utf-8")


def read(folder: Path) -> dict[str, Any]:
    """What ``write`` wrote. Tensors are on the CPU."""
    from safetensors.torch import load_file

    try:
        tensors = load_file(folder / TENSORS)
        return _unpack(json.loads((folder / DATA).read_text(encoding="utf-8")), tensors)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PippinError(f"{folder} cannot be read: {error}.") from None


def on_cpu(content: Any, copies: list[torch.Tensor] | None) -> Any:
    """The same with all tensors on the CPU: copied into ``copies``, so that training can go on while they are written,
    or with None only where they are elsewhere.

    Tensors that share memory go on sharing it: tied weights are stored once.
    """
    known: dict[tuple[Any, ...], torch.Tensor] = {}

    def move(item: Any) -> Any:
        if not isinstance(item, torch.Tensor):
            return item
        key = (item.data_ptr(), item.shape, item.stride(), item.dtype)
        if key not in known or item.numel() == 0:
            place = len(known)
            known[key] = item.detach().cpu() if copies is None else _copied(item, copies, place)
        return known[key]

    return tree_map(move, content)


def _copied(item: torch.Tensor, copies: list[torch.Tensor], place: int) -> torch.Tensor:
    """A copy in the memory of the one before: new memory takes longer to get than to fill."""
    before = copies[place] if place < len(copies) else None
    if before is not None and (before.shape, before.dtype) == (item.shape, item.dtype):
        return before.copy_(item.detach())
    copies[place:] = [torch.empty(item.shape, dtype=item.dtype, device="cpu").copy_(item.detach())]
    return copies[place]


def _pack(value: Any, path: str, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(value, torch.Tensor):
        tensors[path] = value.detach().cpu().contiguous()
        return {_TENSOR: path}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {key: _pack(part, f"{path}/{key}", tensors) for key, part in value.items()}
        pairs = [[key, _pack(part, f"{path}/{key}", tensors)] for key, part in value.items()]
        return {_KEYS: pairs}  # JSON would turn numbers into words
    if isinstance(value, (list, tuple)):
        return [_pack(part, f"{path}/{place}", tensors) for place, part in enumerate(value)]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{path}: a checkpoint cannot hold {type(value).__name__}")


def _apart(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The file takes no two tensors of one memory. Copies of all of them would double what a checkpoint takes."""
    places: set[int] = set()
    apart = {}
    for name, tensor in tensors.items():
        place = tensor.untyped_storage().data_ptr()
        apart[name] = tensor.clone() if place in places else tensor
        places.add(place)
    return apart


def _unpack(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    if isinstance(value, list):
        return [_unpack(part, tensors) for part in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {_TENSOR}:
        return tensors[value[_TENSOR]]
    if value.keys() == {_KEYS}:
        return {key: _unpack(part, tensors) for key, part in value[_KEYS]}
    return {key: _unpack(part, tensors) for key, part in value.items()}
