"""Holding some rows out for validation: seeded, stratified by class, and never a text that training has too."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pippin.data.examples import Examples

#: More rows than this cost time at every evaluation and tell little more.
_MOST_HELD_OUT = 5000


def hold_out(examples: Examples, share: float, seed: int, strata: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Places to keep and places to hold out, each in file order. Every class keeps a row in training.

    ``strata`` are the classes of the rows, where there are any. None are held out where each class has a single row.
    """
    share = min(share, _MOST_HELD_OUT / len(examples))
    order = _candidates(examples, np.random.default_rng(seed).permutation(len(examples)))
    if strata is None:
        held = order[: max(1, round(share * len(examples)))]
    else:
        held = _stratified(order, strata, share)
    mask = np.zeros(len(examples), dtype=bool)
    mask[held] = True
    return np.flatnonzero(~mask), np.flatnonzero(mask)


def _candidates(examples: Examples, order: np.ndarray) -> np.ndarray:
    """Rows whose text stands once in the file; all rows where there are too few of these to choose from."""
    _, kind, times = np.unique(examples.hashes(), return_inverse=True, return_counts=True)
    once = times[kind.reshape(-1)] == 1
    suspects = np.flatnonzero(~once)
    inputs = examples.inputs(suspects)  # other texts may have the same hash
    counts = Counter(inputs)
    once[suspects] = [counts[row] == 1 for row in inputs]
    return order[once[order]] if once.mean() > 0.5 else order


def _stratified(order: np.ndarray, labels: np.ndarray, share: float) -> np.ndarray:
    """From each class its share, fractions carried on from class to class so that the sum is right."""
    held: list[int] = []
    owed = 0.0
    sizes = np.bincount(labels)
    # Sorted once: to look through all rows for each of many classes takes forever.
    by_class = order[np.argsort(labels[order], kind="stable")]
    starts = np.searchsorted(labels[by_class], np.arange(len(sizes) + 1))
    for label in np.unique(labels):
        members = by_class[starts[label] : starts[label + 1]]
        wanted = share * sizes[label]
        owed += wanted
        # Classes of one row give nothing; what they owe must not empty the next class.
        count = min(round(owed), sizes[label] - 1, math.ceil(wanted))
        owed -= min(count, len(members))
        held.extend(members[:count])
    if not held:
        members = order[sizes[labels[order]] > 1]
        held.extend(members[:1])
    return np.array(held, dtype=np.int64)
