"""Which rows go together, in which order, padded to which length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

#: Batches whose rows are sorted by length together. More means less padding and less mixing: lengths go with classes.
WINDOW = 16
#: What a batch costs beside its tokens, in tokens. Chosen to make batches few; not measured.
_BATCH_COST = 256
#: Shortest length that texts still unknown are padded to.
_SHORTEST = 16
#: Packed batches are filled up to so many different numbers of tokens, in multiples of this.
_MOST_CAPACITIES, _CAPACITY = 3, 64
#: Most lengths that plan_lengths weighs against each other; its table grows with the square.
_MOST_CANDIDATES = 512


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


def micro_batches(rows: np.ndarray, tokens: np.ndarray, most_rows: int, most_tokens: int = 0) -> list[np.ndarray]:
    """The rows of a step in parts of at most so many rows, and in smaller equal ones where they have too many tokens.

    ``tokens`` are those of each row, with its padding; 0 for the most of them is any number.

    >>> [len(part) for part in micro_batches(np.arange(10), np.full(10, 50), 8)]
    [8, 2]
    >>> [len(part) for part in micro_batches(np.arange(10), np.full(10, 50), 8, 250)]
    [5, 5]
    """
    return _cut(rows, rows_at_once(tokens, most_rows, most_tokens))


def rows_at_once(tokens: np.ndarray, most_rows: int, most_tokens: int = 0) -> int:
    """How many rows each of these parts has, but for the last."""
    if not most_tokens:
        return most_rows
    parts = min(len(tokens), -(-int(tokens.sum()) // most_tokens))
    return min(most_rows, -(-len(tokens) // parts))


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


def evaluation_shapes(widths: Iterable[int], most_rows: int, token_budget: int) -> dict[int, tuple[int, ...]]:
    """The numbers of rows of a batch of each padded length: a full one, a single row, and one in between.

    These are all shapes that `fixed_order` makes.

    >>> evaluation_shapes([16, 128], 256, 8192)
    {16: (1, 16, 256), 128: (1, 8, 64)}
    """
    full = {int(width): max(1, min(most_rows, token_budget // width)) for width in widths}
    return {width: tuple(sorted({1, math.isqrt(rows), rows})) for width, rows in full.items()}


def fixed_order(
    lengths: np.ndarray, pad_lengths: tuple[int, ...], most_rows: int, token_budget: int
) -> Iterator[tuple[np.ndarray, int]]:
    """Batches of few shapes, longest rows first: the rows of each, and the number of rows that it must be filled up to.

    Of all cuts of the sorted rows into batches of these shapes this is the one with the least work. A batch takes
    shorter rows before it is filled up, so only the last batch has fewer rows than its shape.
    """
    order = np.argsort(lengths, kind="stable")
    widths = padded_lengths(lengths[order], pad_lengths).tolist()
    shapes = evaluation_shapes(sorted(set(widths)), most_rows, token_budget)
    # work[n]: the least for the n shortest rows; sizes[n]: the rows of the batch that takes the longest of them.
    work, sizes = [0], [0]
    for rows, width in enumerate(widths, 1):
        least, size = min((_BATCH_COST + size * width + work[max(rows - size, 0)], size) for size in shapes[width])
        work.append(least)
        sizes.append(size)
    stop = len(order)
    while stop:
        start = max(stop - sizes[stop], 0)
        yield order[start:stop], sizes[stop]
        stop = start


def padded_lengths(lengths: np.ndarray, pad_lengths: tuple[int, ...]) -> np.ndarray:
    """Each length as padded: the smallest planned length that holds it, or itself where none does."""
    planned = np.array([*pad_lengths, 0])
    places = np.searchsorted(planned[:-1], lengths)
    return np.where(places < len(pad_lengths), planned[places], lengths)


def spread_lengths(longest: int, most: int | None) -> tuple[int, ...]:
    """At most so many pad lengths for texts that nobody knows yet, each about as many times longer than the one before.

    None, where the device takes any shape, gives none.

    >>> spread_lengths(128, 4)
    (16, 32, 64, 128)
    """
    if most is None:
        return ()
    spread = np.geomspace(longest, min(_SHORTEST, longest), most)
    return tuple(sorted({round(length) for length in spread}))


def plan_lengths(batch_lengths: np.ndarray, most: int | None) -> tuple[int, ...]:
    """At most so many pad lengths that together waste the least padding over batches of these lengths.

    >>> plan_lengths(np.array([5, 5, 6, 20, 21]), 2)
    (6, 21)
    """
    distinct, counts = np.unique(batch_lengths, return_counts=True)
    if most is None or len(distinct) <= most:
        return tuple(int(length) for length in distinct)
    if len(distinct) > _MOST_CANDIDATES:
        step = -(-distinct[-1] // _MOST_CANDIDATES)
        return plan_lengths(np.minimum(-(-batch_lengths // step) * step, distinct[-1]), most)
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


def few_capacities(totals: np.ndarray) -> tuple[int, ...]:
    """Few numbers of tokens that batches of these totals are filled up to, with little to fill.

    >>> few_capacities(np.array([1000, 1010, 1500, 1501, 2000]))
    (1024, 1536, 2048)
    """
    return plan_lengths(-(-totals // _CAPACITY) * _CAPACITY, _MOST_CAPACITIES)


def _cut(order: np.ndarray, size: int) -> list[np.ndarray]:
    return [order[start : start + size] for start in range(0, len(order), size)]
