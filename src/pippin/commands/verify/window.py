"""Rows for models whose tokens see only those near them: padding that lies farther off than a window reaches.

A token that sees nothing at all is where devices go wrong, and a job's first rows may all be too short for that.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pippin.data.encoding import Encoded

#: Tokens of padding that see no text.
_BEYOND = 8


def past_window(encoded: Encoded, among: np.ndarray, window: int, longest: int) -> tuple[Encoded, list[np.ndarray]]:
    """The rows with two made-up ones added, and batches with them: both alone, and the shortest beside one of them.

    The new rows are made from the tokens of those ``among`` which to look, by saying them again and again. There are
    none, and no batches, where no row may be long enough.
    """
    short = int(among[encoded.lengths[among].argmin()])
    length = int(encoded.lengths[short]) + window + _BEYOND
    if length > longest:
        return encoded, []
    first = len(encoded)
    made = _with_row(_with_row(encoded, short, length), int(among[-1]), length)
    return made, [np.array([first, first + 1]), np.array([short, first])]


def _with_row(encoded: Encoded, row: int, length: int) -> Encoded:
    """A row more, of another's tokens."""
    places = slice(encoded.offsets[row], encoded.offsets[row + 1])
    labels, types = encoded.labels, encoded.token_type_ids
    if labels is not None:
        labels = np.append(labels, np.resize(labels[places], length) if encoded.per_token else labels[row])
    return replace(
        encoded,
        tokens=np.append(encoded.tokens, np.resize(encoded.tokens[places], length)),
        token_type_ids=None if types is None else np.append(types, np.resize(types[places], length)),
        offsets=np.append(encoded.offsets, encoded.offsets[-1] + length),
        labels=labels,
        rows=[*encoded.rows, encoded.rows[row]] if encoded.rows else (),
    )
