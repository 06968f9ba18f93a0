"""Work that is done one step ahead of whoever uses it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")


def one_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items; while one is in use, the next is made in a thread. What goes wrong there is raised here.

    Never more than one is waiting, and one thread alone ever runs ``items``.
    """
    end: Any = object()
    with ThreadPoolExecutor(1, thread_name_prefix="pippin-ahead") as thread:
        coming = thread.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = thread.submit(next, items, end)
            yield item
