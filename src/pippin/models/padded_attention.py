"""Attention over padded rows, called as transformers' registry calls it.

Queries, keys and values are rows × heads × tokens × width; what comes back is rows × tokens × heads × width, and the
shares where they are known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

#: module, query, key, value, mask; scaling and dropout by name.
Attention = Callable[..., tuple[torch.Tensor, Any]]


def fused(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    found = functional.scaled_dot_product_attention(query, key, value, attention_mask, dropout, scale=scaling)
    return found.transpose(1, 2).contiguous(), None


def plain(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **_: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Without a fused kernel, for devices that are not to be trusted with one. A mask may be numbers to be added."""
    scores = torch.matmul(query, key.transpose(2, 3)) * (query.size(-1) ** -0.5 if scaling is None else scaling)
    if attention_mask is not None and attention_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attention_mask, torch.finfo(scores.dtype).min)
    elif attention_mask is not None:
        scores = scores + attention_mask
    shares = functional.dropout(torch.softmax(scores, dim=-1), dropout)
    return torch.matmul(shares, value).transpose(1, 2).contiguous(), shares


#: By transformers' names; None is its own choice.
BY_NAME: dict[str | None, Attention] = {None: fused, "sdpa": fused, "eager": plain}
