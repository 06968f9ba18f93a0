"""Examples: rows that were checked, ready for the tokenizer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Examples:
    """Texts (and second texts) with their labels as numbers; labels are None for rows to predict."""

    texts: list[str]
    pairs: list[str] | None
    labels: np.ndarray | None
    rows: list[int]
    """Row numbers in the file, from 1."""
    origin: str

    def __len__(self) -> int:
        return len(self.texts)

    def inputs(self) -> list[tuple[str, str]]:
        """Text and second text of each row, the second empty where there is none."""
        return list(zip(self.texts, self.pairs or [""] * len(self), strict=True))

    def take(self, chosen: np.ndarray) -> Examples:
        """The examples at these places."""
        return Examples(
            [self.texts[place] for place in chosen],
            None if self.pairs is None else [self.pairs[place] for place in chosen],
            None if self.labels is None else self.labels[chosen],
            [self.rows[place] for place in chosen],
            self.origin,
        )
