"""Work that can be done again: an error carries it along, so that its cause can be looked for by repeating it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

_WORK = "pippin_work"


@contextmanager
def repeatable(work: Callable[..., object], *arguments: Any) -> Iterator[None]:
    """Errors of this block can be looked into by calling ``work`` with these arguments."""
    try:
        yield
    except Exception as error:
        # The innermost block knows best.
        vars(error).setdefault(_WORK, partial(work, *arguments))
        raise


def work_of(error: BaseException) -> Callable[[], object] | None:
    """What to call to see the error again; None where nobody said."""
    return vars(error).get(_WORK)
