"""The rows that a model is most wrong about: what to look at first, in the model and in the data."""

from __future__ import annotations

import numpy as np

from pippin.data.examples import Examples
from pippin.engine.inference import Evaluation
from pippin.report.report import Mistake
from pippin.tasks.sequence.labels import Labels
from pippin.tasks.sequence.predictions import label_and_score

_MOST, _LONGEST_TEXT = 20, 300


def worst_mistakes(examples: Examples, labels: Labels, evaluation: Evaluation) -> tuple[Mistake, ...]:
    """The most confident wrong answers first; for numbers, those that are furthest off."""
    answers, scores = label_and_score(evaluation.logits, labels)
    truth, predictions = evaluation.truth, evaluation.predictions
    sure = np.array(scores, dtype=float)
    off = np.abs(predictions - truth) if labels.regression else np.where(predictions != truth, sure, 0.0)
    worst = [int(place) for place in np.argsort(-off, kind="stable")[:_MOST] if off[place] > 0]
    return tuple(
        Mistake(
            row=examples.rows[place],
            text=_shortened(examples.texts[place]),
            pair=_shortened(examples.pairs[place]) if examples.pairs else "",
            truth=f"{float(truth[place]):g}" if labels.regression else labels.names[int(truth[place])],
            predicted=answers[place],
            score=round(float(off[place]), 4),
        )
        for place in worst
    )


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
