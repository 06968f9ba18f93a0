"""Metrics by the names that GLUE uses, by numpy, correlations by scipy."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pippin.models.labels import Labels

if TYPE_CHECKING:
    from pippin.tasks.sequence.task import SequenceTask

#: Up to so many classes all pairs are told; for more, so many of the pairs that are mixed up most.
_MOST_IN_MATRIX, _MOST_CONFUSIONS = 100, 100


def score(task: SequenceTask, predictions: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """The task's metrics that these labels define; where a GLUE task has two, their mean as combined_score."""
    found = {name: _METRICS[name](labels, predictions) for name in task.metrics}
    results = {name: float(value) for name, value in found.items() if value is not None}
    if task.main_metric == "combined_score" and results:
        results["combined_score"] = float(np.mean(list(results.values())))
    return results


def per_class(labels: Labels, predictions: np.ndarray, truth: np.ndarray) -> dict[str, dict[str, float | None]]:
    """Precision, recall, F1 and number of rows of each class; None for figures of a class without rows."""
    figures = _by_class(_counted(truth, predictions, len(labels.names)))
    return {
        name: {
            key: values[place].item() if figures["rows"][place] or key == "rows" else None
            for key, values in figures.items()
        }
        for place, name in enumerate(labels.names)
    }


def confusion(labels: Labels, predictions: np.ndarray, truth: np.ndarray) -> list[list[int]]:
    """Rows are the true classes, columns the predicted ones; nothing where that would be too large a table."""
    classes = len(labels.names)
    if classes > _MOST_IN_MATRIX:
        return []
    places = truth.astype(int) * classes + predictions.astype(int)
    return np.bincount(places, minlength=classes**2).reshape(classes, classes).tolist()


def top_confusions(labels: Labels, predictions: np.ndarray, truth: np.ndarray) -> list[tuple[str, str, int]]:
    """The pairs of classes that are mixed up most, in order: the true one, the predicted one, and rows."""
    wrong = truth != predictions
    pairs = np.stack([truth[wrong], predictions[wrong]], axis=1).astype(int)
    distinct, counts = np.unique(pairs, axis=0, return_counts=True)
    most = np.argsort(-counts, kind="stable")[:_MOST_CONFUSIONS]
    return [(labels.names[distinct[place, 0]], labels.names[distinct[place, 1]], int(counts[place])) for place in most]


def _accuracy(truth: np.ndarray, predictions: np.ndarray) -> float:
    return float((truth == predictions).mean())


def _f1(truth: np.ndarray, predictions: np.ndarray) -> float:
    """Of the second class, as GLUE has it."""
    return _by_class(_counted(truth, predictions, 2))["f1"][1]


def _f1_macro(truth: np.ndarray, predictions: np.ndarray) -> float:
    """The mean over the classes that occur, as truth or as prediction; a class that is only predicted has 0."""
    counted = _counted(truth, predictions)
    return _by_class(counted)["f1"][counted.of_truth + counted.of_predictions > 0].mean()


def _matthews(truth: np.ndarray, predictions: np.ndarray) -> float:
    counted = _counted(truth, predictions)
    right, of_truth, of_predictions = counted.right.sum(), counted.of_truth * 1.0, counted.of_predictions * 1.0
    rows = float(len(truth))
    spread = (rows**2 - (of_truth**2).sum()) * (rows**2 - (of_predictions**2).sum())
    return (right * rows - of_truth @ of_predictions) / np.sqrt(spread) if spread else 0.0


@dataclass(frozen=True)
class _Counted:
    """Rows of each class. Every figure follows from these; a table of all pairs would grow with their square."""

    right: np.ndarray
    of_truth: np.ndarray
    of_predictions: np.ndarray


def _counted(truth: np.ndarray, predictions: np.ndarray, classes: int = 0) -> _Counted:
    """scikit-learn has this too, and would take seconds to load."""
    truth, predictions = truth.astype(int), predictions.astype(int)
    classes = max(classes, truth.max(initial=0) + 1, predictions.max(initial=0) + 1)
    right = truth[truth == predictions]
    return _Counted(*(np.bincount(each, minlength=classes) for each in (right, truth, predictions)))


def _by_class(counted: _Counted) -> dict[str, np.ndarray]:
    """Figures for each class; where a class never occurs they are 0."""
    right, of_truth, of_predictions = counted.right, counted.of_truth, counted.of_predictions
    return {
        "precision": right / np.maximum(of_predictions, 1),
        "recall": right / np.maximum(of_truth, 1),
        "f1": 2 * right / np.maximum(of_truth + of_predictions, 1),
        "rows": of_truth,
    }


def _correlation(kind: str) -> Any:
    def correlate(truth: np.ndarray, predictions: np.ndarray) -> float | None:
        from scipy import stats

        if not np.ptp(truth):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # constant predictions have no correlation: 0, not a warning
            value = getattr(stats, kind)(truth, predictions)[0]
        return 0.0 if np.isnan(value) else float(value)

    return correlate


def _mse(truth: np.ndarray, predictions: np.ndarray) -> float:
    return float(((truth - predictions) ** 2).mean())


def _mae(truth: np.ndarray, predictions: np.ndarray) -> float:
    return float(np.abs(truth - predictions).mean())


def _rmse(truth: np.ndarray, predictions: np.ndarray) -> float:
    return math.sqrt(_mse(truth, predictions))


def _r2(truth: np.ndarray, predictions: np.ndarray) -> float | None:
    """The share of the variance that is explained; None where there is none."""
    truth, predictions = truth.astype(float), predictions.astype(float)
    variance = ((truth - truth.mean()) ** 2).mean()
    return 1 - _mse(truth, predictions) / variance if np.ptp(truth) else None


_METRICS: dict[str, Any] = {
    "accuracy": _accuracy,
    "f1": _f1,
    "f1_macro": _f1_macro,
    "matthews_correlation": _matthews,
    "pearson": _correlation("pearsonr"),
    "spearmanr": _correlation("spearmanr"),
    "mse": _mse,
    "mae": _mae,
    "rmse": _rmse,
    "r2": _r2,
}
