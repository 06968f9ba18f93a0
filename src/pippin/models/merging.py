"""Adapters added to the weights that they stand beside, so that a plain model is left."""

from __future__ import annotations

from typing import Any

import torch


def merge_adapters(model: Any) -> None:
    """Each sum is taken in full precision, and rounded once to that in which the weight is kept."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    for name, layer in list(model.named_modules()):
        if isinstance(layer, BaseTunerLayer):
            model.set_submodule(name, _merged(layer))
    model._hf_peft_config_loaded = False  # what transformers tells a model with adapters by
    del model.peft_config


def _merged(layer: Any) -> torch.nn.Module:
    plain: torch.nn.Module = layer.get_base_layer()
    kept = {name: each.dtype for name, each in plain.named_parameters()}
    plain.float()
    layer.merge()
    for name, each in plain.named_parameters():
        each.data = each.data.to(kept[name])
    return plain


def round_weights(model: torch.nn.Module, kind: torch.dtype) -> None:
    """Leave nothing in the weights that this type cannot hold; they are kept as they are."""
    for each in model.parameters():
        each.data = each.data.to(kind).to(each.dtype)
