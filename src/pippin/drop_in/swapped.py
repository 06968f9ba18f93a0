"""Attributes of other people's modules and objects that are others for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


@contextmanager
def swapped(*changes: tuple[Any, str, Any]) -> Iterator[None]:
    """Within, these attributes (of what, name, value) are others; those that a release lacks are left out."""
    with ExitStack() as undone:
        for place, name, value in changes:
            if hasattr(place, name):
                undone.callback(setattr, place, name, getattr(place, name))
                setattr(place, name, value)
        yield
