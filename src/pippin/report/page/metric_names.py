"""Metrics as people call them, and which way is better."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pippin.report.report import scores

_TITLES = {
    "f1": "F1", "f1_macro": "Macro F1", "mse": "MSE", "mae": "MAE", "rmse": "RMSE", "r2": "R²",
    "pearson": "Pearson correlation", "spearmanr": "Spearman correlation", "combined_score": "Combined score",
}  # fmt: skip
#: Where there is room for a word.
_SHORT = {
    "f1_macro": "Macro F1", "pearson": "Pearson", "spearmanr": "Spearman", "combined_score": "Combined",
    "matthews_correlation": "Matthews",
}  # fmt: skip
_LOWER_IS_BETTER = ("loss", "mse", "mae", "rmse")
#: MNLI's second set of validation rows.
_MISMATCHED = "_mm"


def metric_title(name: str) -> str:
    """A metric's name for people.

    >>> metric_title("f1_macro"), metric_title("accuracy_mm")
    ('Macro F1', 'Accuracy (mismatched)')
    """
    plain = name.removesuffix(_MISMATCHED)
    title = _TITLES.get(plain) or plain[:1].upper() + plain[1:].replace("_", " ")
    return title if plain == name else f"{title} (mismatched)"


def short_title(name: str) -> str:
    """A metric's name in a word or two, for the head of a column.

    >>> short_title("pearson"), short_title("accuracy_mm")
    ('Pearson', 'Accuracy (mismatched)')
    """
    return _SHORT.get(name) or metric_title(name)


def lower_is_better(name: str) -> bool:
    return name.removesuffix(_MISMATCHED).endswith(_LOWER_IS_BETTER)


def is_no_better(name: str, value: Any, baseline: float | None) -> bool:
    """Whether the simplest answer to every row would score as well.

    >>> is_no_better("accuracy", 0.95, 0.95), is_no_better("mse", 0.1, 0.2), is_no_better("f1", 0.5, None)
    (True, False, False)
    """
    if baseline is None or type(value) not in (int, float):
        return False
    return bool(value >= baseline if lower_is_better(name) else value <= baseline)


def loss_last(results: Mapping[str, Any], split: str) -> dict[str, Any]:
    """The metrics of a split, the loss last."""
    return dict(sorted(scores(results, split).items(), key=lambda item: item[0].startswith("loss")))


def figure(value: Any, how: str = ".4f") -> str:
    """A number of a result; what does not exist is a dash. ``how`` may stand in a stranger's record.

    >>> figure(0.25), figure(None), figure(float("nan")), figure(123456.0)
    ('0.2500', '–', 'NaN', '1.235e+05')
    """
    if value is None:
        return "–"
    if type(value) not in (int, float):
        return str(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "−∞"
    try:
        return format(value, ".4g" if abs(value) >= 1e4 and how == ".4f" else how)
    except ValueError:
        return str(value)
