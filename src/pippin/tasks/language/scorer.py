"""How well texts are foretold, as batches stream: of each token is kept its loss, of each row its sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from pippin.data.collate import NO_LABEL, places_of
from pippin.data.encoding import Encoded
from pippin.data.examples import Examples
from pippin.tasks.base import Baseline, Columns, Prediction
from pippin.tasks.language.encoding import EncodedText
from pippin.tasks.language.shown import worst_part
from pippin.tasks.parts import Part

if TYPE_CHECKING:
    from pippin.tasks.language.task import LanguageTask


class TextScorer:
    """Adds up losses and hits by row."""

    def __init__(self, task: LanguageTask, encoded: EncodedText):
        assert encoded.labels is not None
        self.task, self.encoded = task, encoded
        self.sums = np.zeros((2, len(encoded)))
        """For each row the losses of its learnt tokens, and how many were the likeliest."""
        learnt = np.concatenate([[0], np.cumsum(encoded.labels != NO_LABEL)])
        self.counts = np.diff(learnt[encoded.offsets])

    def add(self, rows: np.ndarray, logits: np.ndarray) -> None:
        """``logits`` are the loss of each token, and whether it was the likeliest; 0 where nothing is learnt."""
        assert len(logits) == len(places_of(self.encoded, rows))
        starts = np.concatenate([[0], np.cumsum(self.encoded.lengths[rows])[:-1]])
        self.sums[:, rows] = np.add.reduceat(logits, starts, axis=0, dtype=float).T

    def share(self, total: Callable[[np.ndarray], np.ndarray]) -> None:
        self.sums = total(self.sums)

    def metrics(self) -> dict[str, float]:
        loss, right = self.sums.sum(axis=1) / self.counts.sum()
        return {"perplexity": _perplexity(loss), "token_accuracy": float(right), "loss": float(loss)}

    def predictions_of_rows(self) -> Iterator[Prediction]:
        """Of each example its mean loss; parts of a long one, and answers of one chat, together."""
        examples = self.encoded.sources
        count = int(examples[-1]) + 1
        losses = np.bincount(examples, self.sums[0], minlength=count)
        tokens = np.bincount(examples, self.counts, minlength=count)
        return (Prediction(value=float(loss)) for loss in losses / np.maximum(tokens, 1))

    def truths(self) -> Iterator[str]:
        return iter(())

    def baseline(self, reference: Encoded) -> Baseline:
        """The most frequent token, always: only its hits can be told."""
        assert reference.labels is not None
        assert self.encoded.labels is not None
        seen = reference.labels[reference.labels != NO_LABEL]
        common = int(np.bincount(seen).argmax())
        own = self.encoded.labels[self.encoded.labels != NO_LABEL]
        return Baseline("always giving the most frequent token", {"token_accuracy": float((own == common).mean())})

    def remarks(self, split: str, baseline: Baseline) -> list[str]:
        return []

    def parts(self, examples: Examples, columns: Columns, split: str) -> tuple[Part, ...]:
        return worst_part(self.encoded, self.sums[0] / np.maximum(self.counts, 1), self.counts, examples, split)


def _perplexity(loss: float) -> float:
    return math.exp(loss) if loss < 700 else math.inf
