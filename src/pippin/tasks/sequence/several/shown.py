"""What the report shows of answers with several labels: each label, and the rows that are furthest off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pippin.data.examples import Examples
from pippin.tasks.base import Columns
from pippin.tasks.parts import Part, TablePart
from pippin.tasks.sequence.several.metrics import per_label
from pippin.tasks.sequence.shown import MOST_MISTAKES, shortened

if TYPE_CHECKING:
    from pippin.tasks.sequence.several.task import SeveralTask


def labels_part(
    task: SeveralTask, given: np.ndarray, truth: np.ndarray, thresholds: np.ndarray, split: str, chosen_here: bool
) -> Part:
    """How well each label does, the worst first."""
    figures = per_label(given, truth)
    rows = [
        (
            name,
            float(thresholds[place]),
            *(float(figures[key][place]) if figures["rows"][place] else None for key in ("precision", "recall", "f1")),
            int(figures["rows"][place]),
        )
        for place, name in enumerate(task.labels.names)
    ]
    rows.sort(key=lambda row: (row[4] is None, row[4]))
    heads, formats = ("label", "threshold", "precision", "recall", "F1", "rows"), ("", ".2f", ".3f", ".3f", ".3f", "d")
    caption = "A text gets a label if its probability is at least the threshold."
    if chosen_here:
        caption += f" Thresholds were chosen on these {split} rows, so on new rows the figures may be a little lower."
    return Part(
        f"By label, on the {split} rows", TablePart(heads, tuple(rows), formats, "labels", caption), in_brief=True
    )


def worst_part(
    wrong: np.ndarray,
    losses: np.ndarray,
    answers: list[tuple[tuple[str, ...], ...]],
    examples: Examples,
    columns: Columns,
    split: str,
) -> tuple[Part, ...]:
    """Rows with a label too many or too few, those of which the model was surest first; ``answers`` are the actual
    labels of each row and the predicted ones."""
    texts = examples.columns
    order = np.argsort(-np.where(wrong, losses, -1.0), kind="stable")[:MOST_MISTAKES]
    rows = tuple(
        (
            examples.rows[place],
            *(shortened(each[place]) for each in texts),
            *answers[place],
            round(float(losses[place]), 4),
        )
        for place in order.tolist()
        if wrong[place]
    )
    heads = ("row", *columns.text[: len(texts)], "actual", "predicted", "loss")
    formats = ("d", *["long" for _ in texts], "names", "names", ".2f")
    return (Part(f"Most confident mistakes, on the {split} rows", TablePart(heads, rows, formats)),) if rows else ()
