"""Memory that runs out: what did not fit is done again in smaller pieces. The one place that catches such an error."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import numpy as np

from pippin.machine.drivers.base import Backend

T = TypeVar("T")
#: The rows of each batch, and the number of rows that it must be filled up to, for rows of these lengths.
Order = Callable[[np.ndarray], Iterator[tuple[np.ndarray, int]]]


def unless_it_is_too_much(
    backend: Backend, work: Callable[[], T], less: Callable[[], bool], undo: Callable[[], None] = lambda: None
) -> T | None:
    """What the work gives; None where memory ran out and ``less`` found something to take less of.

    By then ``undo`` has put back what the work had changed, and memory is as free as it can be. Where nothing can be
    taken less of, the error is raised.
    """
    try:
        return work()
    except (RuntimeError, MemoryError) as error:
        if not backend.is_out_of_memory(error) or not less():
            raise
    # Not in the except block: there the error still holds all that the failed work left on the device.
    undo()
    gc.collect()  # a model may hold tensors in circles
    backend.empty_cache()
    return None


def in_batches_that_fit(
    backend: Backend,
    lengths: np.ndarray,
    order: Order,
    work: Callable[[np.ndarray, int], T],
    halve: Callable[[np.ndarray, int], None],
    rank: int = 0,
    size: int = 1,
    in_step: bool = False,
) -> Iterator[tuple[np.ndarray, T]]:
    """Batch by batch the rows and what the work on them gives; where one does not fit, the others go in smaller ones.

    ``work`` takes rows and the number that they are filled up to. ``halve`` hears of such a batch, and changes what
    ``order`` gives from then on. Of several processes each takes every ``size``-th batch; those that work ``in_step``
    with the others do one in vain where there is none for them.
    """
    everything = list(order(lengths)) if len(lengths) else []
    batches = everything[rank::size]
    in_vain = -(-len(everything) // size) - len(batches) if in_step else 0
    left = np.sort(np.concatenate([rows for rows, _ in batches])) if batches else np.arange(0)
    while batches:
        done = [left[:0]]
        for rows, filled in batches:
            found = unless_it_is_too_much(backend, partial(work, rows, filled), partial(_halved, halve, rows, filled))
            if found is None:
                break
            done.append(rows)
            yield rows, found
        left = np.setdiff1d(left, np.concatenate(done))
        batches = [(left[places], filled) for places, filled in order(lengths[left])] if len(left) else []
    for _ in range(in_vain):
        work(*everything[0])


def _halved(halve: Callable[[np.ndarray, int], None], rows: np.ndarray, size: int) -> bool:
    """False where a single row is too much."""
    if size > 1:
        halve(rows, size)
    return size > 1
