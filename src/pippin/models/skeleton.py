"""A model without its weights: every module and shape of the real one, from its configuration alone."""

from __future__ import annotations

import copy
from typing import Any

import torch

from pippin.models.adapters import lay_like
from pippin.models.labels import SEQUENCE_CLASSIFICATION
from pippin.models.padded_attention import BY_NAME
from pippin.models.plain_bert.config import PlainBertConfig
from pippin.models.precision import keep_in


def make_skeleton(
    config: Any,
    attention: str | None = None,
    auto_model: str = SEQUENCE_CLASSIFICATION,
    precision: str = "fp32",
    adapters: dict[str, Any] | None = None,
) -> Any:
    """The model of this configuration on torch's meta device, where tensors have shapes and no contents.

    ``adapters``: peft's settings of those that lie over it.
    """
    with torch.device("meta"):
        if isinstance(config, PlainBertConfig):
            from pippin.models.plain_bert.model import PlainBert

            return PlainBert(config, BY_NAME[attention])
        import transformers
        from transformers.utils import logging

        logging.set_verbosity_error()
        asked = {"attn_implementation": attention} if attention else {}
        own = copy.deepcopy(config)  # a model writes its way of attention into it
        model = getattr(transformers, auto_model).from_config(own, **asked).to(torch.float32)
        keep_in(model, precision)
        if adapters is not None:
            lay_like(model, adapters)
        return model


def replace_tensors(model: torch.nn.Module, device: torch.device) -> None:
    """Empty tensors on a device in place of those on the meta device; shared ones stay shared."""
    seen: dict[int, torch.Tensor] = {}

    def empty(tensor: torch.Tensor) -> torch.Tensor:
        return torch.empty(tensor.shape, dtype=tensor.dtype, device=device)

    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                new = seen.setdefault(id(parameter), torch.nn.Parameter(empty(parameter), parameter.requires_grad))
                module._parameters[name] = new
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = seen.setdefault(id(buffer), empty(buffer))


def make_random(
    config: Any, attention: str | None = None, auto_model: str = SEQUENCE_CLASSIFICATION, **more: Any
) -> Any:
    """The same on the CPU, with weights that mean nothing."""
    model = make_skeleton(config, attention, auto_model, **more).to_empty(device="cpu")
    if hasattr(model, "tie_weights"):  # to_empty makes two of one
        model.tie_weights()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.02)
    for buffer in model.buffers():
        buffer.zero_()
    return model
