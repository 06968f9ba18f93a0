"""Attention over rows that lie end to end, each seeing itself alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from pippin.models.dropout import drop

if TYPE_CHECKING:
    from pippin.data.collate import LengthGroup, Packing


def in_groups(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    packing: Packing,
    scaling: float,
    dropout: float,
    window: int | None = None,
    causal: bool = False,
    softcap: float | None = None,
) -> Tensor:
    """LengthGroup by group of like lengths, each padded to its longest row: for devices without a kernel of their own.

    ``key`` and ``value`` are tokens × heads × width, and so is ``query``, which may have more heads, or one token for
    each row.
    """
    one_query = len(query) == packing.rows != len(key)
    parts = []
    for group in packing.groups:
        tokens = slice(group.first_token, group.first_token + group.tokens)
        asked = slice(group.first_row, group.first_row + group.rows) if one_query else tokens
        found = _attend(
            query[asked].view(group.rows, 1, *query.shape[1:]) if one_query else _padded(query[asked], group),
            _padded(key[tokens], group),
            _padded(value[tokens], group),
            _seen(group, one_query, window, causal),
            scaling,
            dropout,
            causal and window is None,
            softcap,
        )
        found = found.flatten(0, 1)
        parts.append(found if one_query or group.unpadded is None else found.index_select(0, group.unpadded))
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _padded(tokens: Tensor, group: LengthGroup) -> Tensor:
    """Rows × width × heads × head width."""
    padded = tokens if group.places is None else tokens.index_select(0, group.places)
    return padded.view(group.rows, group.width, *tokens.shape[1:])


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    seen: Tensor | None,
    scaling: float,
    dropout: float,
    causal: bool = False,
    softcap: float | None = None,
) -> Tensor:
    """``causal``: no token sees a later one, beside what ``seen`` says."""
    key, value = (_for_all_heads(part, query.shape[2], 2) for part in (key, value))
    query, key, value = (part.transpose(1, 2) for part in (query, key, value))
    if dropout == 0 and seen is None and query.shape[2] == 1 and softcap is None:
        # Else torch multiplies a matrix by a vector, and the order of its sums depends on the thread that does it.
        shares = (query * scaling * key).sum(-1, keepdim=True).softmax(-2)
        return (shares * value).sum(-2, keepdim=True).transpose(1, 2)
    if dropout == 0 and softcap is None:
        found = functional.scaled_dot_product_attention(query, key, value, seen, scale=scaling, is_causal=causal)
        return found.transpose(1, 2)
    # With dropout torch's own would draw its random numbers one by one.
    scores = torch.matmul(query * scaling, key.transpose(2, 3))
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if seen is not None:
        scores = scores.masked_fill(~seen, float("-inf"))
    shares = drop(torch.softmax(scores, dim=-1), dropout)
    return torch.matmul(shares, value).transpose(1, 2)


def _seen(group: LengthGroup, one_query: bool, window: int | None, causal: bool) -> Tensor | None:
    """What a token sees, where that is not the whole row, or all that comes before it. Padding still sees itself.

    Causal rows need not be told of their padding, which comes after all of their tokens.
    """
    if window is None or group.width <= window:
        if causal and window is not None:
            return _before(group.width)
        return None if causal else group.seen
    places = torch.arange(group.width)
    near = (places[None, :] - places[: 1 if one_query else None, None]).abs() < window
    if causal:
        return near[None, None] & _before(group.width)
    if group.seen is None:
        return near[None, None]
    return (near & group.seen) | (places[None, :] == places[: 1 if one_query else None, None])


def _before(width: int) -> Tensor:
    return torch.ones(1, 1, width, width, dtype=torch.bool).tril()


def _for_all_heads(tokens: Tensor, heads: int, at: int) -> Tensor:
    """Keys or values that several heads share, for each of them; ``at`` is the dimension of the heads."""
    own = tokens.shape[at]
    return tokens if own == heads else tokens.repeat_interleave(heads // own, at)


def by_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    packing: Packing,
    scaling: float,
    dropout: float,
    window: int | None = None,
    causal: bool = False,
    softcap: float | None = None,
) -> Tensor:
    """With the device's own kernels for rows of any lengths: flash in half precision, memory-efficient in fp32."""
    assert softcap is None
    one_query = len(query) == packing.rows != len(key)
    if one_query and len(packing.starts) > packing.rows + 1:
        # Nothing asks the sequences that only fill the shape, and the kernels leave their gradients unwritten.
        is_filling = torch.arange(len(key), device=key.device) >= packing.starts[packing.rows]
        key, value = (part.masked_fill(is_filling[:, None, None], 0) for part in (key, value))
    starts_of_queries = packing.each if one_query else packing.starts
    starts_of_keys = packing.starts[: packing.rows + 1] if one_query else packing.starts
    longest = 1 if one_query else packing.longest
    key, value = (_for_all_heads(part, query.shape[1], 1) for part in (key, value))  # these kernels share no heads
    rows = (query, key, value, starts_of_queries, starts_of_keys, longest, packing.longest)
    if query.dtype == torch.float32:
        return _MemoryEfficient.apply(*rows, scaling, dropout, causal, window if causal else None)
    left = None if window is None else window - 1
    reach = {"window_size_left": left, "window_size_right": 0 if causal and left is not None else left}
    return torch.ops.aten._flash_attention_forward(*rows, dropout, causal, False, scale=scaling, **reach)[0]


class _MemoryEfficient(torch.autograd.Function):
    """torch's memory-efficient kernel. Its own gradient may add up in any order; this one always in the same."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        starts_of_queries: Tensor,
        starts_of_keys: Tensor,
        most_queries: int,
        most_keys: int,
        scaling: float,
        dropout: float,
        causal: bool,
        window: int | None,
    ) -> Tensor:
        found, sums, seed, offset, *_ = torch.ops.aten._efficient_attention_forward(
            query[None],
            key[None],
            value[None],
            None,
            starts_of_queries,
            starts_of_keys,
            most_queries,
            most_keys,
            dropout,
            int(causal),  # 1: a token sees its row up to itself
            any(ctx.needs_input_grad),
            scale=scaling,
            window_size=window,
        )
        ctx.save_for_backward(query, key, value, found, starts_of_queries, starts_of_keys, sums, seed, offset)
        ctx.settings = (most_queries, most_keys, scaling, dropout, causal, window)
        return found[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, found, starts_of_queries, starts_of_keys, sums, seed, offset = ctx.saved_tensors
        most_queries, most_keys, scaling, dropout, causal, window = ctx.settings
        gradients = torch.ops.aten._efficient_attention_backward(
            gradient[None].contiguous(),
            query[None],
            key[None],
            value[None],
            None,
            found,
            starts_of_queries,
            starts_of_keys,
            most_queries,
            most_keys,
            sums,
            dropout,
            seed,
            offset,
            int(causal),
            False,
            scale=scaling,
            num_splits_key=1,
            window_size=window,
        )
        return (*(each[0] for each in gradients[:3]), *[None] * 8)
