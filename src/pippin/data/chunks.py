"""Rows some at a time: enough to sort them by length, few enough that a file of any size fits into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

#: Rows of a chunk. Sorted by length they still fill their batches: some thirty of the largest size.
MOST_ROWS = 8192
#: Characters from which on a chunk is not added to: rows can be whole books.
MOST_CHARACTERS = 2**24

Row = TypeVar("Row")


def in_chunks(rows: Iterable[Row], size: Callable[[Row], int]) -> Iterator[tuple[int, list[Row]]]:
    """Lists of rows, each with the place (from 0) of its first one. ``size`` tells a row's characters."""
    first, chunk, characters = 0, list[Row](), 0
    for row in rows:
        chunk.append(row)
        characters += size(row)
        if len(chunk) >= MOST_ROWS or characters >= MOST_CHARACTERS:
            yield first, chunk
            first, chunk, characters = first + len(chunk), [], 0
    if chunk:
        yield first, chunk
