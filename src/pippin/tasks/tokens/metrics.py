"""Figures of answers to words: of whole entities as seqeval counts them, or of single tags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pippin.tasks.tokens.entities import Counts, Kinds, counted

if TYPE_CHECKING:
    from pippin.tasks.tokens.task import TokensTask


@dataclass(frozen=True)
class Scored:
    """The answered words of all rows, end to end."""

    predictions: np.ndarray
    truth: np.ndarray
    rows: np.ndarray
    """The row of each."""
    tokens: np.ndarray
    """The place of each among all tokens."""
    words: np.ndarray
    """The place of each in its row."""

    def predicting(self, tag: int) -> Scored:
        """The same words with one answer for all of them."""
        return replace(self, predictions=np.full_like(self.predictions, tag))


def score(task: TokensTask, scored: Scored) -> dict[str, float]:
    accuracy = float((scored.predictions == scored.truth).mean()) if len(scored.truth) else 0.0
    if not task.marks_entities:
        return {"accuracy": accuracy, "f1_macro": _f1_macro(by_tag(task, scored))}
    total = by_kind(task, scored).total().figures()
    return {name: float(total[name][0]) for name in ("f1", "precision", "recall")} | {"accuracy": accuracy}


def by_kind(task: TokensTask, scored: Scored) -> Counts:
    """How many entities of each kind were found, in the order of the kinds."""
    return counted(Kinds.of(task.labels.names), scored.predictions, scored.truth, scored.rows)


def by_tag(task: TokensTask, scored: Scored) -> Counts:
    """How many words of each tag were found."""
    right = scored.truth[scored.truth == scored.predictions]
    every = (right, scored.truth, scored.predictions)
    return Counts(*(np.bincount(each, minlength=len(task.labels.names)) for each in every))


def _f1_macro(counts: Counts) -> float:
    """The mean over the tags that occur, as truth or as prediction."""
    occurs = counts.of_truth + counts.of_predictions > 0
    return float(counts.figures()["f1"][occurs].mean()) if occurs.any() else 0.0
