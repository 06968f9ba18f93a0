"""Holding some rows out for validation: seeded, and stratified by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pippin.data.dataset import Examples

#: More rows than this cost time at every evaluation and tell little more.
_MOST_HELD_OUT = 5000


def hold_out(examples: Examples, share: float, seed: int, stratify: bool) -> tuple[np.ndarray, np.ndarray]:
    """Places to keep and places to hold out, each in file order. A class with a single row stays in training."""
    share = min(share, _MOST_HELD_OUT / len(examples))
    order = np.random.default_rng(seed).permutation(len(examples))
    if not stratify or examples.labels is None:
        held = order[: max(1, round(share * len(examples)))]
    else:
        held = _stratified(order, examples.labels, share)
    mask = np.zeros(len(examples), dtype=bool)
    mask[held] = True
    return np.flatnonzero(~mask), np.flatnonzero(mask)


def _stratified(order: np.ndarray, labels: np.ndarray, share: float) -> np.ndarray:
    """From each class its share, fractions carried on from class to class so that the sum is right."""
    held: list[int] = []
    owed = 0.0
    for label in np.unique(labels):
        members = order[labels[order] == label]
        owed += share * len(members)
        count = min(round(owed), len(members) - 1)
        owed -= count
        held.extend(members[:count])
    if not held:
        largest = np.bincount(labels).argmax()
        held.extend(order[labels[order] == largest][:1])
    return np.array(held)
