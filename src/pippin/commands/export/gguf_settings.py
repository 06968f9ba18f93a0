"""A model's configuration under the keys of GGUF, and what of it GGUF has no word for."""

from __future__ import annotations

from typing import Any

import torch

from pippin.errors import PippinError

#: Kinds of models by transformers' names, and which architecture each is to llama.cpp.
ARCHITECTURES = {"llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3"}
#: Ways to stretch positions that can be written.
_SCALINGS = ("default", "linear", "llama3")
_INSTEAD = "Use --to merged, and the converter of the program that is to read it."


def check_settings(config: Any) -> None:
    kind, scaling = config.model_type, rope_of(config)["rope_type"]
    if kind not in ARCHITECTURES:
        raise PippinError(f"--to gguf takes {', '.join(ARCHITECTURES)} models, and this is a {kind} model. {_INSTEAD}")
    if scaling not in _SCALINGS:
        raise PippinError(f"--to gguf: the model's positions are scaled by {scaling!r}, which is not known. {_INSTEAD}")
    if config.hidden_act != "silu":
        raise PippinError(f"--to gguf: the model computes with {config.hidden_act}, and GGUF means silu. {_INSTEAD}")


def settings_of(config: Any) -> dict[str, Any]:
    """What shapes the model. A window is written as the longest input: up to there it changes nothing."""
    rope, width = rope_of(config), head_width(config)
    longest = min(config.max_position_embeddings, getattr(config, "sliding_window", None) or 2**31)
    found: dict[str, Any] = {
        "vocab_size": config.vocab_size,
        "context_length": longest,
        "embedding_length": config.hidden_size,
        "block_count": config.num_hidden_layers,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads,
        "attention.head_count_kv": config.num_key_value_heads,
        "attention.key_length": width,
        "attention.value_length": width,
        "attention.layer_norm_rms_epsilon": float(config.rms_norm_eps),
        "rope.dimension_count": width,
        "rope.freq_base": float(rope["rope_theta"]),
    }
    if rope["rope_type"] == "linear":
        found |= {"rope.scaling.type": "linear", "rope.scaling.factor": float(rope["factor"])}
    return {f"{ARCHITECTURES[config.model_type]}.{name}": value for name, value in found.items()}


def rope_factors(config: Any) -> torch.Tensor | None:
    """By how much Llama 3 slows each of the frequencies by which positions turn; None where none is slowed."""
    if rope_of(config)["rope_type"] != "llama3":
        return None
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    width = head_width(config)
    plain = rope_of(config)["rope_theta"] ** -(torch.arange(0, width, 2, dtype=torch.float32) / width)
    slowed, _ = ROPE_INIT_FUNCTIONS["llama3"](config, torch.device("cpu"))
    return plain / slowed


def head_width(config: Any) -> int:
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def rope_of(config: Any) -> dict[str, Any]:
    """Settings of positions, as any release of transformers has them."""
    found = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    theta = found.get("rope_theta") or getattr(config, "rope_theta", None)
    return {**found, "rope_theta": theta, "rope_type": found.get("rope_type", found.get("type", "default"))}
