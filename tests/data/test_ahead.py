"""One step ahead, in one thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from pippin.data.ahead import one_ahead


def test_items_keep_their_order():
    assert list(one_ahead(iter(range(50)))) == list(range(50))
    assert list(one_ahead(iter(()))) == []


def test_the_next_is_made_while_one_is_in_use():
    second = threading.Event()
    threads = set()

    def items() -> Iterator[int]:
        threads.add(threading.get_ident())
        yield 1
        threads.add(threading.get_ident())
        second.set()
        yield 2

    coming = one_ahead(items())
    assert next(coming) == 1
    assert second.wait(timeout=60), "made without being asked for"
    assert list(coming) == [2]
    assert len(threads) == 1
    assert threading.get_ident() not in threads


def test_never_more_than_one_waits():
    made = []

    def items() -> Iterator[int]:
        for number in range(20):
            made.append(number)
            yield number

    for number in one_ahead(items()):
        assert len(made) <= number + 2


def test_an_error_comes_in_its_place():
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    coming = one_ahead(items())
    assert next(coming) == 1
    with pytest.raises(ValueError, match="broken"):
        next(coming)


def test_whoever_stops_early_leaves_no_thread():
    coming = one_ahead(iter(range(100)))
    next(coming)
    coming.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("pippin-ahead")]
