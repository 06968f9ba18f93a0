"""F1 over all answers, the mean of the labels' F1, and the share of rows with exactly the right labels."""

from __future__ import annotations

import numpy as np


def score(given: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """The metrics of answers, rows × labels. `f1` is the micro average, as in Hugging Face's scripts."""
    right, answered, true = _counted(given, truth)
    occurring = answered + true > 0
    per_label = 2 * right / np.maximum(answered + true, 1)
    return {
        "f1": float(2 * right.sum() / max(int((answered + true).sum()), 1)),
        "f1_macro": float(per_label[occurring].mean()) if occurring.any() else 0.0,
        "subset_accuracy": float((given == truth.astype(bool)).all(1).mean()),
    }


def per_label(given: np.ndarray, truth: np.ndarray) -> dict[str, np.ndarray]:
    """Precision, recall, F1 and number of rows of each label; 0 where a label never occurs."""
    right, answered, true = _counted(given, truth)
    return {
        "precision": right / np.maximum(answered, 1),
        "recall": right / np.maximum(true, 1),
        "f1": 2 * right / np.maximum(answered + true, 1),
        "rows": true,
    }


def _counted(given: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    true = truth.astype(bool)
    return (given & true).sum(0), given.sum(0), true.sum(0)
