"""What the report shows of the answers to labelled rows: classes, numbers, and the worst mistakes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pippin.data.examples import Examples
from pippin.tasks.base import Columns
from pippin.tasks.parts import Matrix, Part, Scatter, TablePart
from pippin.tasks.sequence.metrics import confusion, per_class, top_confusions

if TYPE_CHECKING:
    from pippin.tasks.sequence.task import SequenceTask

MOST_MISTAKES, _LONGEST_TEXT = 20, 300
#: Points of a scatter, and the seed by which they are drawn from more.
_MOST_POINTS, _SEED = 1000, 0
#: Classes that a caption names.
_MOST_NAMED = 5


def classes_part(task: SequenceTask, predictions: np.ndarray, truth: np.ndarray, split: str) -> Part:
    """How well each class does, and which others are predicted for it."""
    about = (task.labels, predictions, truth)
    rows = tuple((name, *figures.values()) for name, figures in per_class(*about).items())
    counts, pairs = confusion(*about), top_confusions(*about)
    heads, formats = ("class", "precision", "recall", "F1", "rows"), ("", ".3f", ".3f", ".3f", "d")
    return Part(
        f"By class, on the {split} rows",
        TablePart(heads, rows, formats, "classes", _about_absent(task, truth, split)),
        Matrix(task.labels.names, tuple(map(tuple, counts)), "Actual classes down, predicted classes across.")
        if counts
        else None,
        TablePart(("actual", "predicted", "times"), tuple(pairs), ("", "", "d"), caption="Most frequent confusions."),
        in_brief=True,
    )


def _about_absent(task: SequenceTask, truth: np.ndarray, split: str) -> str:
    """Which classes have no rows to be judged on, and what becomes of their figures."""
    present = np.bincount(truth, minlength=len(task.labels.names)) > 0
    absent = [name for name, has_rows in zip(task.labels.names, present, strict=False) if not has_rows]
    if not absent:
        return ""
    more = f" and {len(absent) - _MOST_NAMED} more" if len(absent) > _MOST_NAMED else ""
    named = ", ".join(f'"{name}"' for name in absent[:_MOST_NAMED]) + more
    one = "it has" if len(absent) == 1 else "they have"
    macro = " f1_macro leaves such a class out, or counts it as 0 if the model predicts it."
    return f"No {split} rows of {named}, so {one} no figures.{macro if 'f1_macro' in task.metrics else ''}"


def numbers_part(task: SequenceTask, predictions: np.ndarray, truth: np.ndarray, split: str) -> Part:
    """Actual and predicted numbers."""
    places, caption = np.arange(len(truth)), ""
    if len(truth) > _MOST_POINTS:
        places = np.sort(np.random.default_rng(_SEED).choice(len(truth), _MOST_POINTS, replace=False))
        caption = f"{_MOST_POINTS} of {len(truth)} rows, drawn at random."
    points = Scatter(tuple(truth[places].tolist()), tuple(predictions[places].tolist()), caption)
    return Part(f"Actual and predicted numbers, on the {split} rows", scatter=points)


def worst_part(
    task: SequenceTask,
    predictions: np.ndarray,
    truth: np.ndarray,
    scores: np.ndarray,
    examples: Examples,
    columns: Columns,
    split: str,
) -> tuple[Part, ...]:
    """The most confident wrong answers first; for numbers, those that are furthest off."""
    if task.regression:
        off, title, figure = np.abs(predictions - truth), "Largest errors", "error"
        how = of_answers = _four_digits(float(np.abs([truth, predictions]).max(initial=0)))
    else:
        off, title, figure = np.where(predictions != truth, scores, 0.0), "Most confident mistakes", "confidence"
        how, of_answers = ".0%", ""
    texts = examples.columns

    def answer(value: float) -> float | str:
        return value if task.regression else task.labels.names[int(value)]

    rows = tuple(
        (
            examples.rows[place],
            *(shortened(each[place]) for each in texts),
            answer(truth[place].item()),
            answer(predictions[place].item()),
            round(float(off[place]), 4),
        )
        for place in np.argsort(-off, kind="stable")[:MOST_MISTAKES].tolist()
        if off[place] > 0
    )
    heads = ("row", *columns.text[: len(texts)], "actual", "predicted", figure)
    formats = ("d", *["long" for _ in texts], of_answers, of_answers, how)
    return (Part(f"{title}, on the {split} rows", TablePart(heads, rows, formats)),) if rows else ()


def _four_digits(largest: float) -> str:
    """How numbers up to the largest are written, all with the same decimals.

    >>> _four_digits(5.0), _four_digits(1234567.0), _four_digits(0.02)
    ('.3f', '.0f', '.5f')
    """
    whole = math.floor(math.log10(largest)) if 0 < largest < math.inf else 0
    return f".{min(max(3 - whole, 0), 9)}f"


def shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
