"""The rows that a model is most wrong about: what to look at first, in the model and in the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from pippin.data.examples import Examples
from pippin.report.report import Mistake

_MOST, _LONGEST_TEXT = 20, 300


def worst_mistakes(examples: Examples, scorer: Any) -> tuple[Mistake, ...]:
    """The most confident wrong answers first; for numbers, those that are furthest off."""
    truth, predictions, regression = scorer.truth, scorer.predictions, scorer.task.regression
    off = np.abs(predictions - truth) if regression else np.where(predictions != truth, scorer.scores, 0.0)
    answers, truths = [each.label for each in scorer.predictions_of_rows()], list(scorer.truths())
    worst = [int(place) for place in np.argsort(-off, kind="stable")[:_MOST] if off[place] > 0]
    return tuple(
        Mistake(
            row=examples.rows[place],
            text=_shortened(examples.texts[place]),
            pair=_shortened(examples.pairs[place]) if examples.pairs else "",
            truth=truths[place],
            predicted=answers[place],
            score=round(float(off[place]), 4),
        )
        for place in worst
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
