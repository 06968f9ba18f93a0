"""What is kept of a model that is trained: all of its weights, or the adapters alone where only these are trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.errors import PippinError
from pippin.models.adapters import adapter_weights, has_adapters, put_adapters, save_adapters

if TYPE_CHECKING:
    import torch


def kept_weights(model: Any) -> dict[str, torch.Tensor]:
    return adapter_weights(model) if has_adapters(model) else model.state_dict()


def save_model(model: Any, folder: Path, weights: dict[str, Any] | None = None) -> None:
    """Write a model as transformers, or its adapters as peft reads them. ``weights`` stand for the model's own."""
    if has_adapters(model):
        save_adapters(model, folder, weights)
    elif weights is None:
        model.save_pretrained(folder)
    else:
        model.save_pretrained(folder, state_dict=weights)


def put_back(model: Any, folder: Path, files: list[str]) -> None:
    """Put the weights of a checkpoint into the model: all of them, out of these files."""
    from safetensors.torch import load_model

    if has_adapters(model):
        put_adapters(model, folder)
        return
    missing = set(model.state_dict())
    for name in files:
        missing &= set(load_model(model, folder / name, strict=False)[0])
    if missing or not files:
        raise PippinError(f"{folder} cannot be used: {len(missing)} of the model's tensors are missing.")
