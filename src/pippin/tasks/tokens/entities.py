"""Counting entities in the tags of many sentences at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pippin.tasks.tokens.tags import OUTSIDE, parts_of


@dataclass(frozen=True)
class Entities:
    """Where entities are in sentences that lie end to end."""

    first: np.ndarray
    last: np.ndarray
    kind: np.ndarray
    """By number, as `Kinds` has them."""


@dataclass(frozen=True)
class Kinds:
    """What each tag says: how it begins or goes on with an entity, and of which kind."""

    names: tuple[str, ...]
    """Of the kinds, in order of the alphabet."""
    letters: np.ndarray
    """For each tag its letter, in those of IOBES."""
    numbers: np.ndarray
    """For each tag the number of its kind; -1 outside of entities."""

    @classmethod
    def of(cls, tags: tuple[str, ...]) -> Kinds:
        parts = [parts_of(tag) for tag in tags]
        names = tuple(sorted({kind for _, kind in parts if kind}))
        letters = np.array([letter or "I" for letter, _ in parts])  # of plain tags, like ones stand together
        return cls(names, letters, np.array([names.index(kind) if kind else -1 for _, kind in parts]))

    def find(self, tags: np.ndarray, sentences: np.ndarray) -> Entities:
        """The entities of words with these tags, as ``tags.entities`` finds them in one sentence.

        ``sentences`` has a number for each word that changes where another sentence begins.
        """
        letter, kind = self.letters[tags], self.numbers[tags]
        inside = letter != OUTSIDE
        goes_on = np.zeros(len(tags), bool)
        goes_on[1:] = (
            np.isin(letter[1:], ("I", "E"))
            & np.isin(letter[:-1], ("B", "I"))
            & (kind[1:] == kind[:-1])
            & (sentences[1:] == sentences[:-1])
        )
        first = np.flatnonzero(inside & ~goes_on)
        ends = np.flatnonzero(inside & ~np.append(goes_on[1:], False))
        return Entities(first, ends, kind[first])


@dataclass(frozen=True)
class Counts:
    """Entities of each kind: found and right, all that are there, all that were found."""

    right: np.ndarray
    of_truth: np.ndarray
    of_predictions: np.ndarray

    def figures(self) -> dict[str, np.ndarray]:
        """Precision, recall and F1; 0 where there is nothing to divide by, as seqeval has it."""
        return {
            "precision": self.right / np.maximum(self.of_predictions, 1),
            "recall": self.right / np.maximum(self.of_truth, 1),
            "f1": 2 * self.right / np.maximum(self.of_truth + self.of_predictions, 1),
        }

    def total(self) -> Counts:
        return Counts(*(each.sum(keepdims=True) for each in (self.right, self.of_truth, self.of_predictions)))


def counted(kinds: Kinds, predictions: np.ndarray, truth: np.ndarray, sentences: np.ndarray) -> Counts:
    """How many entities were found; one counts where its words and its kind are right."""
    found, there = kinds.find(predictions, sentences), kinds.find(truth, sentences)
    _, in_found, in_there = np.intersect1d(found.first, there.first, return_indices=True)
    is_right = (found.last[in_found] == there.last[in_there]) & (found.kind[in_found] == there.kind[in_there])
    right = found.kind[in_found][is_right]
    return Counts(*(np.bincount(each, minlength=len(kinds.names)) for each in (right, there.kind, found.kind)))
