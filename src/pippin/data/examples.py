"""Examples: rows that were checked, ready for the tokenizer."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Examples:
    """Texts (and second texts) with their labels as numbers; labels are None for rows to predict."""

    texts: list[str]
    pairs: list[str] | None
    labels: np.ndarray | None
    rows: Sequence[int]
    """Row numbers in the file, from 1."""
    origin: str

    def __len__(self) -> int:
        return len(self.texts)

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

    def take(self, chosen: np.ndarray) -> Examples:
        """The examples at these places."""
        return Examples(
            [self.texts[place] for place in chosen],
            None if self.pairs is None else [self.pairs[place] for place in chosen],
            None if self.labels is None else self.labels[chosen],
            array("q", (self.rows[place] for place in chosen)),
            self.origin,
        )
