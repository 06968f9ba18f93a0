"""Our attention in a model: it knows where rows lie, and may be asked for first tokens only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from pippin.data.collate import Packing
from pippin.models.padded_attention import BY_NAME, Attention, fused
from pippin.models.plain_bert.model import PlainBert

#: query, key, value (tokens × heads × width), where the rows lie, scaling, dropout, how far a token sees, whether it
#: sees no later ones, and what scores are capped at → tokens.
Attend = Callable[[Tensor, Tensor, Tensor, Packing, float, float, "int | None", bool, "float | None"], Tensor]


@dataclass
class AttentionLayout:
    """What attention must know of the batch at hand. One object for all modules of a model."""

    attend: Attend | None
    """How packed rows attend; None where rows are padded."""
    packing: Packing | None = None
    set_aside: tuple[Tensor, Tensor] | None = None
    """Keys and values of all tokens, from a layer that goes on with first tokens only."""


def use_attention(model: Any, layout: AttentionLayout) -> None:
    """Make a model attend as ``layout`` says: ours directly, transformers' by way of its registry."""
    for module in model.modules():
        module.pippin_layout = layout
    if isinstance(model, PlainBert):
        model.use_attention(_packed if layout.attend else _padded(model.attention))
        return
    model.config._attn_implementation = registered_attention(layout, model.config._attn_implementation)


def registered_attention(layout: AttentionLayout, base: str) -> str:
    """The name in transformers' registry under which a model attends as ``layout`` says; ``base`` is its own."""
    from transformers import AttentionInterface
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, AttentionMaskInterface

    # The word "flash" in a name would make transformers look for a kernel on the Hub.
    name = "pippin_packed" if layout.attend else f"pippin_padded_{base}"
    AttentionInterface.register(name, _packed if layout.attend else _padded(BY_NAME.get(base, fused)))
    AttentionMaskInterface.register(
        name, (lambda *_, **__: None) if layout.attend else ALL_MASK_ATTENTION_FUNCTIONS[base]
    )
    return name


def _packed(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    layout: AttentionLayout = module.pippin_layout
    assert layout.attend is not None
    assert layout.packing is not None
    key, value = _all_tokens(layout, key, value)
    query, key, value = (tensor[0].transpose(0, 1) for tensor in (query, key, value))
    scaling = query.size(-1) ** -0.5 if scaling is None else scaling
    causal = bool(getattr(module, "is_causal", False))
    found = layout.attend(query, key, value, layout.packing, scaling, dropout, sliding_window, causal, softcap)
    return found[None], None


def _padded(attend: Attention) -> Attention:
    """The same with the keys and values that were set aside, for queries that lie as first tokens do."""

    def attend_to_all(
        module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **settings: Any
    ) -> tuple[Tensor, Any]:
        layout: AttentionLayout = module.pippin_layout
        if layout.set_aside is None:
            return attend(module, query, key, value, attention_mask, **settings)
        key, value = _all_tokens(layout, key, value)
        first = None if attention_mask is None else attention_mask[:, :, :1]
        found, shares = attend(module, query.transpose(0, 2), key, value, first, **settings)
        return found.transpose(0, 1), shares

    return attend_to_all


def _all_tokens(layout: AttentionLayout, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """The keys and values that were set aside, in the shape of those that came, or these themselves."""
    if layout.set_aside is None:
        return key, value
    aside, layout.set_aside = layout.set_aside, None
    heads, width = key.shape[1], key.shape[3]
    key, value = (tensor.unflatten(-1, (heads, width)).transpose(1, 2) for tensor in aside)
    return key, value
