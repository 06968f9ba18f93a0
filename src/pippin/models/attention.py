"""What a model's attention is like, from its configuration alone."""

from __future__ import annotations

from typing import Any

from pippin.machine.work import Work
from pippin.models.families import FAMILIES

#: What configurations call the tokens that one token sees, where those are not all.
_WINDOWS = (
    "sliding_window", "sliding_window_size", "sliding_windows", "local_attention", "attention_window",
    "attention_windows", "attention_window_size", "attention_chunk_size", "window_size",
)  # fmt: skip


def work_of(config: Any, precision: str = "fp32") -> Work:
    """What a model of this configuration asks of a device, as far as its attention tells."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    heads = getattr(text, "num_attention_heads", None) or 1
    return Work(
        precision=precision,
        causal=is_causal(config),
        has_window=window_of(config) is not None,
        uneven_heads=_has_uneven_heads(text),
        heads=max(heads) if isinstance(heads, (list, tuple)) else heads,  # some name a number for each layer
    )


def is_causal(config: Any) -> bool:
    """Whether some of the model's attention is causal.

    transformers has no word for it: a kind of model that can write text and has no head for filling gaps in it looks
    back only, and so does the second half of an encoder-decoder.
    """
    if getattr(config, "is_decoder", False) or getattr(config, "is_encoder_decoder", False):
        return True
    kind = getattr(config, "model_type", None)
    if kind is None or kind in FAMILIES:  # asking would import transformers
        return kind in FAMILIES and FAMILIES[kind].causal
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    return kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES


def window_of(config: Any) -> int | None:
    """How far at most a token sees in the layers where it does not see the whole row; None where it always does.

    Some configurations count to one side, some to both, some name a number for each layer: this is the largest.
    """
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    if getattr(text, "use_sliding_window", True) is False:
        return None
    named = [getattr(text, name, None) for name in _WINDOWS]
    every = [each for value in named for each in (value if isinstance(value, (list, tuple)) else [value])]
    return max((each for each in every if type(each) is int and each > 0), default=None)


def _has_uneven_heads(config: Any) -> bool:
    """DeepSeek's kin name the widths of queries and values one by one."""
    value, query = getattr(config, "v_head_dim", None), getattr(config, "qk_nope_head_dim", None)
    if value is None or query is None:
        return False
    return bool(value != query + getattr(config, "qk_rope_head_dim", 0))
