"""From which probability on a label is given: where its F1 on labelled rows is best."""

from __future__ import annotations

import numpy as np

from pippin.models.labels import EVEN

#: A label with fewer rows than this would get a threshold by chance; it shares one with all others.
_FEWEST_ROWS = 5


def best_thresholds(probabilities: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """One for each column of rows × labels."""
    rows = truth.sum(0, dtype=int)
    shared = _best(probabilities.reshape(-1), truth.reshape(-1)) if rows.sum() >= _FEWEST_ROWS else EVEN
    found = [
        _best(probabilities[:, label], truth[:, label]) if rows[label] >= _FEWEST_ROWS else shared
        for label in range(truth.shape[1])
    ]
    return np.array(found, np.float32)


def _best(probabilities: np.ndarray, truth: np.ndarray) -> float:
    """Between two probabilities; of equally good places the one nearest to even odds."""
    order = np.argsort(-probabilities, kind="stable")
    ranked, right = probabilities[order], np.cumsum(truth[order], dtype=float)
    f1 = 2 * right / (np.arange(1, len(ranked) + 1) + right[-1])
    following = np.append(ranked[1:], 0.0)
    f1[ranked == following] = -1  # rows of one probability get the same answer
    places = (ranked.astype(float) + following) / 2
    best = np.flatnonzero(f1 == f1.max())
    return round(float(places[best[np.abs(places[best] - EVEN).argmin()]]), 6)
