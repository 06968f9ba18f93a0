"""The usual metrics of the package evaluate, by its names: without the Hub, and where need be without scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pippin.drop_in.errors import MissingPackage
from pippin.models.labels import Labels
from pippin.tasks.sequence.known import TASKS
from pippin.tasks.sequence.metrics import per_class, score


@dataclass(frozen=True)
class Definition:
    """How a metric is computed, and whether its values are classes or numbers."""

    compute: Callable[..., dict[str, Any]]
    classes: bool = True


class LocalMetric:
    """A metric with the methods of evaluate's: collect with ``add`` or ``add_batch``, then ``compute``."""

    module_type = "metric"

    def __init__(self, name: str, config_name: str | None = None):
        self.name = name
        self.config_name = config_name
        self._definition = GLUE[str(config_name)] if name == "glue" else METRICS[name]
        self._predictions: list[Any] = []
        self._references: list[Any] = []

    def __repr__(self) -> str:
        return f"LocalMetric(name: {self.name!r}, rows so far: {len(self._references)})"

    def __len__(self) -> int:
        return len(self._references)

    def _feature_names(self) -> list[str]:  # evaluate.combine asks for it
        return ["predictions", "references"]

    def add(
        self, *, prediction: Any = None, reference: Any = None, predictions: Any = None, references: Any = None
    ) -> None:
        """One row. evaluate's own combination says `predictions` here."""
        self._predictions.append(predictions if prediction is None else prediction)
        self._references.append(references if reference is None else reference)

    def add_batch(self, *, predictions: Any, references: Any) -> None:
        if len(predictions) != len(references):
            raise ValueError(f"{len(predictions)} predictions, but {len(references)} references.")
        self._predictions += list(_plain(predictions))
        self._references += list(_plain(references))

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any]:
        """The metric of all rows so far, which are forgotten then."""
        if predictions is not None or references is not None:
            if predictions is None or references is None:
                raise ValueError("compute() takes both predictions and references, or neither.")
            self.add_batch(predictions=predictions, references=references)
        found, truth = self._values(self._predictions), self._values(self._references)
        self._predictions, self._references = [], []
        if found.shape != truth.shape or (found.ndim > 1 and self.config_name is None):
            raise ValueError(
                f"{self.name}: expected one value per row, but predictions have the shape {found.shape} and "
                f"references {truth.shape}. Did you forget argmax?"
            )
        return self._definition.compute(truth, found, **options)

    def _values(self, rows: list[Any]) -> np.ndarray:
        values = np.asarray(rows)
        # evaluate keeps numbers in single precision, too.
        return values.astype(np.int64 if self._definition.classes else np.float32)


def is_known(name: str, config_name: str | None = None) -> bool:
    return str(config_name) in GLUE if name == "glue" else name in METRICS


def _plain(values: Any) -> np.ndarray:
    """Also of tensors on any device."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)


def _scikit_learn() -> Any:
    try:
        import sklearn.metrics
    except ImportError:
        return None
    return sklearn.metrics


def _refuse(name: str, options: dict[str, Any]) -> None:
    given = [f"{option}=" for option, value in options.items() if value is not None]
    if given:
        raise MissingPackage(f"the metric {name} with {', '.join(given)} needs scikit-learn: pip install scikit-learn")


def _accuracy(
    truth: np.ndarray, found: np.ndarray, normalize: bool = True, sample_weight: Any = None
) -> dict[str, Any]:
    learn = _scikit_learn()
    if learn:
        return {"accuracy": float(learn.accuracy_score(truth, found, normalize=normalize, sample_weight=sample_weight))}
    _refuse("accuracy", {"sample_weight": sample_weight})
    right = (truth == found).reshape(len(truth), -1).all(axis=1)
    return {"accuracy": float(right.mean() if normalize else right.sum())}


def _by_class(figure: str) -> Callable[..., dict[str, Any]]:
    """precision, recall or f1."""

    def compute(
        truth: np.ndarray, found: np.ndarray, pos_label: int = 1, average: str | None = "binary", **options: Any
    ) -> dict[str, Any]:
        given = {name: value for name, value in options.items() if value is not None}
        if learn := _scikit_learn():
            compute = getattr(learn, f"{figure}_score")
            value = compute(truth, found, pos_label=pos_label, average=average, **given)
        else:
            _refuse(figure, {**given, "rows of several classes": True if truth.ndim > 1 else None})
            value = _averaged(figure, truth, found, pos_label, average)
        return {figure: value if getattr(value, "size", 1) > 1 else float(value)}

    return compute


def _averaged(figure: str, truth: np.ndarray, found: np.ndarray, pos_label: int, average: str | None) -> Any:
    classes, places = np.unique(np.concatenate([truth, found]), return_inverse=True)
    if average == "binary" and len(classes) > 2:
        raise ValueError(
            "there are more than two classes, but average='binary'. Choose 'micro', 'macro' or 'weighted'."
        )
    if average == "micro":  # of every row's one class, so precision, recall and F1 are the accuracy
        return (truth == found).mean()
    figures = per_class(Labels(tuple(map(str, classes))), places[len(truth) :], places[: len(truth)])
    values = np.array([row[figure] or 0.0 for row in figures.values()])  # of a class that is only predicted, too
    rows = np.array([row["rows"] for row in figures.values()])
    if average == "binary":
        return values[classes == pos_label].sum()  # 0 where the class never occurs
    if average == "weighted":
        return (values * rows).sum() / rows.sum()
    return values.mean() if average == "macro" else values


def _matthews(truth: np.ndarray, found: np.ndarray, sample_weight: Any = None) -> dict[str, Any]:
    learn = _scikit_learn()
    if learn:
        return {"matthews_correlation": float(learn.matthews_corrcoef(truth, found, sample_weight=sample_weight))}
    _refuse("matthews_correlation", {"sample_weight": sample_weight})
    return dict(score(TASKS["cola"], found, truth))


def _mse(truth: np.ndarray, found: np.ndarray, squared: bool = True, **options: Any) -> dict[str, Any]:
    value = _mean_error("mse", "mean_squared_error", np.square, truth, found, options)
    return {"mse": value if squared else np.sqrt(value)}


def _mae(truth: np.ndarray, found: np.ndarray, **options: Any) -> dict[str, Any]:
    return {"mae": _mean_error("mae", "mean_absolute_error", np.abs, truth, found, options)}


def _mean_error(
    name: str, function: str, error: Any, truth: np.ndarray, found: np.ndarray, options: dict[str, Any]
) -> Any:
    truth, found = truth.astype(np.float64), found.astype(np.float64)
    if learn := _scikit_learn():
        return getattr(learn, function)(truth, found, **options)
    if options.get("multioutput") == "uniform_average":
        del options["multioutput"]
    _refuse(name, options)
    return error(truth - found).mean()


def _pearson(truth: np.ndarray, found: np.ndarray, return_pvalue: bool = False) -> dict[str, Any]:
    from scipy.stats import pearsonr

    value, chance = pearsonr(truth.astype(np.float64), found.astype(np.float64))
    return {"pearsonr": float(value), **({"p-value": float(chance)} if return_pvalue else {})}


def _spearman(truth: np.ndarray, found: np.ndarray, return_pvalue: bool = False) -> dict[str, Any]:
    from scipy.stats import spearmanr

    value, chance = spearmanr(truth, found)
    return {"spearmanr": float(value), **({"spearmanr_pvalue": float(chance)} if return_pvalue else {})}


def _glue_accuracy_and_f1(truth: np.ndarray, found: np.ndarray) -> dict[str, Any]:
    return {**_accuracy(truth, found), **METRICS["f1"].compute(truth, found)}


def _glue_correlations(truth: np.ndarray, found: np.ndarray) -> dict[str, Any]:
    return {"pearson": _pearson(truth, found)["pearsonr"], **_spearman(truth, found)}


METRICS = {
    "accuracy": Definition(_accuracy),
    "f1": Definition(_by_class("f1")),
    "precision": Definition(_by_class("precision")),
    "recall": Definition(_by_class("recall")),
    "matthews_correlation": Definition(_matthews),
    "xnli": Definition(_accuracy),
    "mse": Definition(_mse, classes=False),
    "mae": Definition(_mae, classes=False),
    "pearsonr": Definition(_pearson, classes=False),
    "spearmanr": Definition(_spearman, classes=False),
}

_ACCURACY = Definition(_accuracy)
_ACCURACY_AND_F1 = Definition(_glue_accuracy_and_f1)
#: By the configuration of evaluate's metric `glue`.
GLUE = {
    "cola": Definition(_matthews),
    "stsb": Definition(_glue_correlations, classes=False),
    "mrpc": _ACCURACY_AND_F1,
    "qqp": _ACCURACY_AND_F1,
    **dict.fromkeys(("sst2", "mnli", "mnli_matched", "mnli_mismatched", "qnli", "rte", "wnli", "hans"), _ACCURACY),
}
