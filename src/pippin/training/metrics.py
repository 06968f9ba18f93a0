"""Metrics by the names that GLUE uses, by numpy, correlations by scipy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from pippin.data.labels import Labels
from pippin.data.tasks import Task


def score(task: Task, predictions: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """The task's metrics; where a GLUE task has two, their mean as combined_score."""
    results = {name: float(_METRICS[name](labels, predictions)) for name in task.metrics}
    if task.main_metric == "combined_score":
        results["combined_score"] = float(np.mean(list(results.values())))
    return results


def per_class(labels: Labels, predictions: np.ndarray, truth: np.ndarray) -> dict[str, dict[str, float]]:
    """Precision, recall, F1 and number of rows of each class."""
    figures = _by_class(_counts(truth, predictions, len(labels.names)))
    return {
        name: {key: values[place].item() for key, values in figures.items()} for place, name in enumerate(labels.names)
    }


def confusion(labels: Labels, predictions: np.ndarray, truth: np.ndarray) -> list[list[int]]:
    """Rows are the true classes, columns the predicted ones."""
    return _counts(truth, predictions, len(labels.names)).tolist()


def decide(logits: np.ndarray, labels: Labels) -> np.ndarray:
    """Logits as predictions: the number itself, or the class with the largest one."""
    return logits[:, 0] if labels.regression else logits.argmax(axis=1)


def _accuracy(truth: np.ndarray, predictions: np.ndarray) -> float:
    return float((truth == predictions).mean())


def _f1(truth: np.ndarray, predictions: np.ndarray) -> float:
    """Of the second class, as GLUE has it."""
    return _by_class(_counts(truth, predictions, 2))["f1"][1]


def _f1_macro(truth: np.ndarray, predictions: np.ndarray) -> float:
    """The mean over the classes that occur, as truth or as prediction."""
    counts = _counts(truth, predictions)
    occur = counts.sum(axis=0) + counts.sum(axis=1) > 0
    return _by_class(counts)["f1"][occur].mean()


def _matthews(truth: np.ndarray, predictions: np.ndarray) -> float:
    counts = _counts(truth, predictions).astype(float)
    rows, of_truth, of_predictions = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
    spread = (rows**2 - (of_truth**2).sum()) * (rows**2 - (of_predictions**2).sum())
    return (np.trace(counts) * rows - of_truth @ of_predictions) / np.sqrt(spread) if spread else 0.0


def _counts(truth: np.ndarray, predictions: np.ndarray, classes: int = 0) -> np.ndarray:
    """How many rows of each class (down) were predicted as each (across); scikit-learn would take seconds to load."""
    truth, predictions = truth.astype(int), predictions.astype(int)
    classes = max(classes, truth.max(initial=0) + 1, predictions.max(initial=0) + 1)
    return np.bincount(truth * classes + predictions, minlength=classes**2).reshape(classes, classes)


def _by_class(counts: np.ndarray) -> dict[str, np.ndarray]:
    """Figures for each class; where a class never occurs they are 0."""
    right, of_truth, of_predictions = np.diag(counts), counts.sum(axis=1), counts.sum(axis=0)
    return {
        "precision": right / np.maximum(of_predictions, 1),
        "recall": right / np.maximum(of_truth, 1),
        "f1": 2 * right / np.maximum(of_truth + of_predictions, 1),
        "rows": of_truth,
    }


def _correlation(kind: str) -> Any:
    def correlate(truth: np.ndarray, predictions: np.ndarray) -> float:
        from scipy import stats

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant predictions have no correlation: 0, not a warning
            value = getattr(stats, kind)(truth, predictions)[0]
        return 0.0 if np.isnan(value) else float(value)

    return correlate


def _mse(truth: np.ndarray, predictions: np.ndarray) -> float:
    return float(((truth - predictions) ** 2).mean())


_METRICS: dict[str, Any] = {
    "accuracy": _accuracy,
    "f1": _f1,
    "f1_macro": _f1_macro,
    "matthews_correlation": _matthews,
    "pearson": _correlation("pearsonr"),
    "spearmanr": _correlation("spearmanr"),
    "mse": _mse,
}

#: Metrics of which less is better.
LOWER_IS_BETTER = frozenset({"loss", "mse"})
