"""Answers to tokens as they stream: of each is kept its tag, the tag's probability and what it adds to the loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from pippin.data.collate import NO_LABEL, places_of
from pippin.data.encoding import Encoded
from pippin.data.examples import Examples, WordExamples
from pippin.tasks.base import Baseline, Columns, Prediction
from pippin.tasks.class_weights import weights_beside
from pippin.tasks.parts import Part
from pippin.tasks.tokens.encoding import EncodedWords
from pippin.tasks.tokens.metrics import Scored, score
from pippin.tasks.tokens.shown import kinds_part, tags_part, worst_part
from pippin.tasks.tokens.spans import by_word, spans_of
from pippin.tasks.tokens.tags import OUTSIDE

if TYPE_CHECKING:
    from pippin.tasks.tokens.task import TokensTask


class TagScorer:
    def __init__(self, task: TokensTask, encoded: EncodedWords):
        self.task, self.encoded = task, encoded
        self.tags = np.zeros(len(encoded.tokens), np.int32)
        self.scores, self.losses = np.zeros((2, len(encoded.tokens)), np.float32)
        self.weights = torch.tensor(task.class_weights)

    def add(self, rows: np.ndarray, logits: np.ndarray) -> None:
        places = places_of(self.encoded, rows)
        self.tags[places] = logits.argmax(axis=1)
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        self.scores[places] = shifted.max(axis=1) / shifted.sum(axis=1)
        if self.encoded.labels is not None:
            found = torch.from_numpy(logits)
            self.losses[places] = functional.cross_entropy(
                found,
                torch.from_numpy(self.encoded.labels[places]),
                weights_beside(found, self.task.class_weights) if self.task.class_weights else None,
                ignore_index=NO_LABEL,
                reduction="none",
                label_smoothing=self.task.label_smoothing,
            ).numpy()

    def share(self, total: Callable[[np.ndarray], np.ndarray]) -> None:
        self.tags, self.scores, self.losses = total(self.tags), total(self.scores), total(self.losses)

    def metrics(self) -> dict[str, float]:
        assert self.encoded.labels is not None
        loss = float(self.losses.sum(dtype=float)) / self.task.count(torch.from_numpy(self.encoded.labels))
        return {**score(self.task, self.scored), "loss": loss}

    def predictions_of_rows(self) -> Iterator[Prediction]:
        """Of each example: windows of a long one are put together again."""
        encoded, names = self.encoded, self.task.labels.names
        examples = encoded.examples
        offsets = encoded.offsets[np.searchsorted(encoded.sources, np.arange(len(examples) + 1))]
        for place, (start, stop) in enumerate(zip(offsets, offsets[1:], strict=False)):
            own = np.arange(start, stop)[encoded.counts[start:stop]]
            if isinstance(examples, WordExamples):
                tags = [OUTSIDE if OUTSIDE in names else ""] * len(examples.words(place))
                for token in own[encoded.words[own] >= 0].tolist():
                    tags[encoded.words[token]] = names[self.tags[token]]
                yield Prediction(tags=tuple(tags))
            else:
                text, characters = examples.texts[place], encoded.characters[own]
                found, scores = [names[tag] for tag in self.tags[own]], self.scores[own].tolist()
                if self.task.aggregation == "first" and found:
                    found, scores, characters = by_word(text, found, scores, characters, encoded.words[own])
                yield Prediction(spans=spans_of(text, found, scores, characters))

    def truths(self) -> Iterator[str]:
        assert self.encoded.examples.labels is not None
        return (" ".join(self.task.labels.names[tag] for tag in tags) for tags in self.encoded.examples.labels)

    def baseline(self, reference: Encoded) -> Baseline:
        """The most frequent tag on every word: mostly that for words outside of entities."""
        assert reference.labels is not None
        tags = reference.labels[reference.labels != NO_LABEL]
        common = int(np.bincount(tags, minlength=1).argmax())
        always = self.scored.predicting(common)
        return Baseline(f'always answering "{self.task.labels.names[common]}"', score(self.task, always))

    def remarks(self, split: str, baseline: Baseline) -> list[str]:
        scored, names = self.scored, self.task.labels.names
        advice = "Try more rows, more epochs (--epochs), or another learning rate (--lr)."
        if len(scored.truth) and np.ptp(scored.truth) and not np.ptp(scored.predictions):
            tag = names[scored.predictions[0]]
            return [f'the model answers "{tag}" to every word of the {split} rows, whatever it is. {advice}']
        name = self.task.main_metric
        reached, easy = score(self.task, scored)[name], baseline.metrics[name]
        if reached > easy or not np.ptp(scored.truth):
            return []
        return [f"{name} {reached:.4f} on the {split} rows is no better than {baseline.answer} ({easy:.4f}). {advice}"]

    def parts(self, examples: Examples, columns: Columns, split: str) -> tuple[Part, ...]:
        assert isinstance(examples, WordExamples)
        table = kinds_part if self.task.marks_entities else tags_part
        return (table(self.task, self.scored, split), *worst_part(self.task, self.scored, self.losses, examples, split))

    @property
    def scored(self) -> Scored:
        """The words that have a tag, end to end."""
        encoded = self.encoded
        assert encoded.labels is not None
        words = self._words
        return Scored(self.tags[words], encoded.labels[words], self._rows, words, encoded.words[words])

    @cached_property
    def _words(self) -> np.ndarray:
        return np.flatnonzero(self.encoded.labels != NO_LABEL)

    @cached_property
    def _rows(self) -> np.ndarray:
        """For each of these words its row."""
        return np.searchsorted(self.encoded.offsets, self._words, side="right") - 1
