"""A plain BERT from a file of weights."""

from __future__ import annotations

from pathlib import Path

import torch

from pippin.models.padded_attention import Attention
from pippin.models.plain_bert.config import PlainBertConfig
from pippin.models.plain_bert.model import PlainBert

_FLOATS = ("F32", "F16", "BF16")
_HEAD = ("bert.pooler.", "classifier.")
#: Files of older releases hold the numbers from 0 on.
_BUFFERS = {"bert.embeddings.position_ids"}


def fits(config: PlainBertConfig, file: Path) -> bool:
    """Whether a file holds the weights of this very model, but for a head that it may lack. Reads no weights."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, "numpy") as weights:
            found = {_name_here(name): weights.get_slice(name) for name in weights.keys()}  # noqa: SIM118 (no mapping)
            if config.num_hidden_layers > len(found):  # so that no made-up number is counted up to
                return False
            return all(
                found[name].get_shape() == list(empty.shape) and found[name].get_dtype() in _FLOATS
                if name in found
                else name.startswith(_HEAD)
                for name, empty in _without_weights(config).state_dict().items()
            )
    except (OSError, SafetensorError):
        return False


def load(config: PlainBertConfig, file: Path, attention: Attention) -> PlainBert:
    """The model in fp32. A head that the file does not have is drawn anew, with the draws that transformers makes."""
    from safetensors.torch import load_file

    model = _without_weights(config)
    model.use_attention(attention)
    found = {_name_here(name): tensor for name, tensor in load_file(file).items()}
    weights = {}
    for name, empty in model.state_dict().items():
        if name in found:
            weights[name] = found[name].to(torch.float32, copy=True)  # the file may change
        elif name.endswith("bias"):
            weights[name] = torch.zeros(empty.shape)
        else:
            weights[name] = torch.empty(empty.shape).normal_(0.0, config.initializer_range)
    model.load_state_dict(weights, assign=True)
    return model.eval()


def compare(model: PlainBert, file: Path) -> tuple[set[str], set[str]]:
    """The names of a model's tensors that a file lacks, and those of the file that the model does not use."""
    from safetensors import safe_open

    with safe_open(file, "numpy") as weights:
        found = {_name_here(name) for name in weights.keys()}  # noqa: SIM118 (no mapping)
    own = model.state_dict().keys()
    return own - found, found - own - _BUFFERS


def _without_weights(config: PlainBertConfig) -> PlainBert:
    with torch.device("meta"):
        return PlainBert(config)


def _name_here(name: str) -> str:
    """Files of the bare encoder leave out its prefix, and old ones name norms otherwise."""
    name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
    return name if name.startswith(("bert.", "classifier.", "cls.")) else f"bert.{name}"
