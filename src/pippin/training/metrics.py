"""Metrics by the names that GLUE uses, through scikit-learn and scipy."""

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
    from sklearn.metrics import precision_recall_fscore_support

    numbers = list(range(len(labels.names)))
    figures = precision_recall_fscore_support(truth, predictions, labels=numbers, zero_division=0)
    return {
        name: {
            "precision": float(figures[0][place]),
            "recall": float(figures[1][place]),
            "f1": float(figures[2][place]),
            "rows": int(figures[3][place]),
        }
        for place, name in enumerate(labels.names)
    }


def confusion(labels: Labels, predictions: np.ndarray, truth: np.ndarray) -> list[list[int]]:
    """Rows are the true classes, columns the predicted ones."""
    from sklearn.metrics import confusion_matrix

    return confusion_matrix(truth, predictions, labels=list(range(len(labels.names)))).tolist()


def decide(logits: np.ndarray, labels: Labels) -> np.ndarray:
    """Logits as predictions: the number itself, or the class with the largest one."""
    return logits[:, 0] if labels.regression else logits.argmax(axis=1)


def _accuracy(truth: np.ndarray, predictions: np.ndarray) -> float:
    return float((truth == predictions).mean())


def _f1(truth: np.ndarray, predictions: np.ndarray) -> float:
    from sklearn.metrics import f1_score

    return f1_score(truth, predictions, zero_division=0)


def _f1_macro(truth: np.ndarray, predictions: np.ndarray) -> float:
    from sklearn.metrics import f1_score

    return f1_score(truth, predictions, average="macro", zero_division=0)


def _matthews(truth: np.ndarray, predictions: np.ndarray) -> float:
    from sklearn.metrics import matthews_corrcoef

    return matthews_corrcoef(truth, predictions)


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
