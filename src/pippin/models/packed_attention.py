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
) -> Tensor:
    """LengthGroup by group of like lengths, each padded to its longest row: for devices without a kernel of their own.

    ``key`` and ``value`` are tokens × heads × width, and so is ``query``, or it has one token for each row.
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
            group.seen if window is None else _within(window, group, one_query),
            scaling,
            dropout,
        )
        found = found.flatten(0, 1)
        parts.append(found if one_query or group.unpadded is None else found.index_select(0, group.unpadded))
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _padded(tokens: Tensor, group: LengthGroup) -> Tensor:
    """Rows × width × heads × head width."""
    padded = tokens if group.places is None else tokens.index_select(0, group.places)
    return padded.view(group.rows, group.width, *tokens.shape[1:])


def _attend(query: Tensor, key: Tensor, value: Tensor, seen: Tensor | None, scaling: float, dropout: float) -> Tensor:
    query, key, value = (part.transpose(1, 2) for part in (query, key, value))
    if dropout == 0 and seen is None and query.shape[2] == 1:
        # Else torch multiplies a matrix by a vector, and the order of its sums depends on the thread that does it.
        shares = (query * scaling * key).sum(-1, keepdim=True).softmax(-2)
        return (shares * value).sum(-2, keepdim=True).transpose(1, 2)
    if dropout == 0:
        found = functional.scaled_dot_product_attention(query, key, value, seen, scale=scaling)
        return found.transpose(1, 2)
    # With dropout torch's own would draw its random numbers one by one.
    scores = torch.matmul(query * scaling, key.transpose(2, 3))
    if seen is not None:
        scores = scores.masked_fill(~seen, float("-inf"))
    shares = drop(torch.softmax(scores, dim=-1), dropout)
    return torch.matmul(shares, value).transpose(1, 2)


def _within(window: int, group: LengthGroup, one_query: bool) -> Tensor | None:
    """What a token sees where it sees fewer than ``window`` places to either side. Padding still sees itself."""
    if group.width <= window:
        return group.seen
    places = torch.arange(group.width)
    near = (places[None, :] - places[: 1 if one_query else None, None]).abs() < window
    if group.seen is None:
        return near[None, None]
    return (near & group.seen) | (places[None, :] == places[: 1 if one_query else None, None])


def by_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    packing: Packing,
    scaling: float,
    dropout: float,
    window: int | None = None,
) -> Tensor:
    """With the device's own kernels for rows of any lengths: flash in half precision, memory-efficient in fp32."""
    one_query = len(query) == packing.rows != len(key)
    if one_query and len(packing.starts) > packing.rows + 1:
        # Nothing asks the sequences that only fill the shape, and the kernels leave their gradients unwritten.
        is_filling = torch.arange(len(key), device=key.device) >= packing.starts[packing.rows]
        key, value = (part.masked_fill(is_filling[:, None, None], 0) for part in (key, value))
    starts_of_queries = packing.each if one_query else packing.starts
    starts_of_keys = packing.starts[: packing.rows + 1] if one_query else packing.starts
    longest = 1 if one_query else packing.longest
    rows = (query, key, value, starts_of_queries, starts_of_keys, longest, packing.longest)
    if query.dtype == torch.float32:
        return _MemoryEfficient.apply(*rows, scaling, dropout)
    sides = ("window_size_left", "window_size_right")
    reach = dict.fromkeys(sides, None if window is None else window - 1)
    return torch.ops.aten._flash_attention_forward(*rows, dropout, False, False, scale=scaling, **reach)[0]


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
            0,  # every token of a row sees all of it
            any(ctx.needs_input_grad),
            scale=scaling,
        )
        ctx.save_for_backward(query, key, value, found, starts_of_queries, starts_of_keys, sums, seed, offset)
        ctx.settings = (most_queries, most_keys, scaling, dropout)
        return found[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, found, starts_of_queries, starts_of_keys, sums, seed, offset = ctx.saved_tensors
        most_queries, most_keys, scaling, dropout = ctx.settings
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
            0,
            False,
            scale=scaling,
            num_splits_key=1,
        )
        return (*(each[0] for each in gradients[:3]), None, None, None, None, None, None)
