"""Examples: rows that were checked, ready for the tokenizer."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

#: Between the texts of a row from the second on, where it has more than two, and between words that were given one by
#: one: ASCII's own mark for it. The tokenizer's separator takes its place.
SEPARATOR = "\x1f"
E = TypeVar("E", bound="Examples")
W = TypeVar("W", bound="WordExamples")


@dataclass(frozen=True)
class Examples:
    """Texts (and second texts) with their labels as numbers; labels are None for rows to predict."""

    texts: list[str]
    pairs: list[str] | None
    """The second text of each row, and those after it, with SEPARATOR between them."""
    labels: np.ndarray | None
    rows: Sequence[int]
    """Row numbers in the file, from 1."""
    origin: str

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def columns(self) -> list[list[str]]:
        """The texts of all rows, a list for each column they were read from."""
        if not self.pairs:
            return [self.texts]
        return [self.texts, *map(list, zip(*(pair.split(SEPARATOR) for pair in self.pairs), strict=True))]

    def inputs(self, chosen: np.ndarray) -> list[tuple[str, str]]:
        """Text and second text of the rows at these places, the second empty where there is none."""
        return [(self.texts[place], self.pairs[place] if self.pairs else "") for place in chosen]

    def hashes(self) -> np.ndarray:
        """A number for each row, the same for the same texts; other texts have hardly ever the same one."""
        numbers = map(hash, self.texts if self.pairs is None else zip(self.texts, self.pairs, strict=True))
        return np.fromiter(numbers, np.int64, len(self))

    def without_texts(self) -> Examples:
        """The same rows where their texts have done their work: they take more room than all else."""
        return replace(self, texts=[""] * len(self), pairs=None if self.pairs is None else [""] * len(self))

    def take(self: E, chosen: np.ndarray) -> E:
        """The examples at these places."""
        return replace(
            self,
            texts=[self.texts[place] for place in chosen],
            pairs=None if self.pairs is None else [self.pairs[place] for place in chosen],
            labels=None if self.labels is None else self.labels[chosen],
            rows=array("q", (self.rows[place] for place in chosen)),
        )

    def with_numbers(self: E, numbers: np.ndarray) -> E:
        """With other numbers for the labels: ``numbers`` has the new one of each."""
        if self.labels is None:
            return self
        several = self.labels.ndim > 1  # a column of 0 and 1 for each label
        return replace(self, labels=self.labels[:, numbers.argsort()] if several else numbers[self.labels])


@dataclass(frozen=True)
class WordExamples(Examples):
    """Rows that are words, each of which may have a label: texts are the words with SEPARATOR between them."""

    @property
    def columns(self) -> list[list[str]]:
        return [[text.replace(SEPARATOR, " ") for text in self.texts]]

    def words(self, place: int) -> list[str]:
        return self.texts[place].split(SEPARATOR)

    def with_numbers(self: W, numbers: np.ndarray) -> W:
        """Labels are an array of numbers for each row."""
        if self.labels is None:
            return self
        labels = np.empty(len(self.labels), object)
        labels[:] = [numbers[row] for row in self.labels]
        return replace(self, labels=labels)


def join_words(words: Iterable[str]) -> str:
    """Words as one text of a ``WordExamples``."""
    return SEPARATOR.join(word.replace(SEPARATOR, " ") for word in words)


def pairs_of(others: Sequence[Sequence[str]]) -> list[str] | None:
    """The texts of all rows after the first, by column, as second texts; None where there are none."""
    if len(others) < 2:
        return list(others[0]) if others else None
    cleaned = ((text.replace(SEPARATOR, " ") for text in row) for row in zip(*others, strict=True))
    return [SEPARATOR.join(row) for row in cleaned]
