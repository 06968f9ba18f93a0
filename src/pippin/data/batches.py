"""Which rows go together, in which order, padded to which length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pippin.data.encoding import Encoded

if TYPE_CHECKING:
    import torch

#: Batches whose rows are sorted by length together. More means less padding and less mixing: lengths go with classes.
WINDOW = 16


@dataclass(frozen=True)
class Batch:
    """Padded inputs of some rows, on the CPU."""

    inputs: dict[str, torch.Tensor]
    labels: torch.Tensor | None
    rows: np.ndarray

    @property
    def tokens(self) -> int:
        """Tokens with padding: what the device computes."""
        return self.inputs["input_ids"].numel()


def training_order(lengths: np.ndarray, batch_size: int, strategy: str, seed: int, epoch: int) -> list[np.ndarray]:
    """The batches of an epoch as row numbers. The same seed and epoch give the same order on every computer."""
    generator = np.random.default_rng([seed, epoch])
    if strategy == "sequential":
        return _cut(np.arange(len(lengths)), batch_size)
    order = generator.permutation(len(lengths))
    if strategy == "random":
        return _cut(order, batch_size)
    batches: list[np.ndarray] = []
    for window in _cut(order, batch_size * WINDOW):
        batches += _cut(window[np.argsort(lengths[window], kind="stable")], batch_size)
    # The short batch stays last, so that every epoch has the same shape of steps.
    full = [batch for batch in batches if len(batch) == batch_size]
    short = [batch for batch in batches if len(batch) < batch_size]
    return [full[place] for place in generator.permutation(len(full))] + short


def evaluation_order(lengths: np.ndarray, most_rows: int, token_budget: int) -> Iterator[np.ndarray]:
    """Batches in order of length, each within a number of rows and of padded tokens."""
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + 1
        while (
            stop < len(order) and stop - start < most_rows and (stop - start + 1) * lengths[order[stop]] <= token_budget
        ):
            stop += 1
        yield order[start:stop]
        start = stop


def plan_lengths(batch_lengths: np.ndarray, most: int | None) -> tuple[int, ...]:
    """At most so many pad lengths that together waste the least padding over batches of these lengths.

    >>> plan_lengths(np.array([5, 5, 6, 20, 21]), 2)
    (6, 21)
    """
    distinct, counts = np.unique(batch_lengths, return_counts=True)
    if most is None or len(distinct) <= most:
        return tuple(int(length) for length in distinct)
    # best[k][j]: least padded length over distinct[: j + 1] with k lengths, the last being distinct[j].
    cumulative = np.concatenate([[0], np.cumsum(counts)])
    best = distinct * cumulative[1:].astype(float)
    came_from: list[np.ndarray] = []
    for _ in range(most - 1):
        costs = best[:, None] + distinct[None, :] * (cumulative[None, 1:] - cumulative[1:, None])
        costs[np.tril_indices(len(distinct))] = np.inf
        origin = costs.argmin(axis=0)
        better = costs.min(axis=0)
        came_from.append(np.where(better < best, origin, -1))
        best = np.minimum(best, better)
    chosen, place = [], len(distinct) - 1
    for origin in reversed(came_from):
        chosen.append(int(distinct[place]))
        if origin[place] < 0:
            break
        place = origin[place]
    else:
        chosen.append(int(distinct[place]))
    return tuple(sorted(set(chosen)))


def collate(encoded: Encoded, rows: np.ndarray, pad_lengths: tuple[int, ...] = ()) -> Batch:
    """Pad some rows to the smallest planned length that holds them (to their longest where none does)."""
    import torch

    lengths = encoded.lengths[rows]
    longest = int(lengths.max())
    width = next((length for length in pad_lengths if length >= longest), longest)
    tokens = np.full((len(rows), width), encoded.pad_token, dtype=np.int64)
    mask = np.arange(width)[None, :] < lengths[:, None]
    if encoded.pad_left:
        mask = mask[:, ::-1]
    places = np.concatenate([np.arange(encoded.offsets[row], encoded.offsets[row + 1]) for row in rows])
    tokens[mask] = encoded.tokens[places]
    inputs = {
        "input_ids": torch.from_numpy(tokens),
        "attention_mask": torch.from_numpy(mask.astype(np.int64, order="C")),
    }
    if encoded.segments is not None:
        segments = np.zeros((len(rows), width), dtype=np.int64)
        segments[mask] = encoded.segments[places]
        inputs["token_type_ids"] = torch.from_numpy(segments)
    labels = None if encoded.labels is None else torch.from_numpy(encoded.labels[rows])
    return Batch(inputs, labels, rows)


def _cut(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[start : start + size] for start in range(0, len(order), size)]
