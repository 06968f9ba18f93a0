"""A script that several processes run: the first one decides and writes, and the others hear of it."""

from __future__ import annotations

import atexit
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import torch

from pippin.engine.group import let_threads_finish

T = TypeVar("T")


def first_says(make: Callable[[], T]) -> T:
    """What ``make`` gives in the first process, in all of them; so is its error."""
    if not _are_several():
        return make()
    found: list[Any] = [None, None]
    if torch.distributed.get_rank() == 0:
        try:
            found[0] = make()
        except Exception as error:
            found[1] = error
    torch.distributed.broadcast_object_list(found, src=0)
    if found[1] is not None:
        raise found[1]
    return found[0]


def all_say(value: bool) -> bool:
    """Whether it holds in every process."""
    if not _are_several():
        return value
    found: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(found, value)
    return all(found)


@cache
def wait_for_threads_at_exit() -> None:
    """A script leaves its process group as it is when it ends."""
    atexit.register(let_threads_finish)


def _are_several() -> bool:
    distributed = torch.distributed
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1
