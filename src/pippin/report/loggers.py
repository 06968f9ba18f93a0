"""Log lines of other libraries above a live bar: their handlers hold standard error itself, and would write into it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


@contextmanager
def loggers_follow(before: TextIO) -> Iterator[None]:
    """While standard error is another stream than ``before``, what loggers wrote there goes to the new one."""
    moved = [handler for handler in _handlers() if handler.stream is before]
    for handler in moved:
        handler.setStream(sys.stderr)
    try:
        yield
    finally:
        for handler in moved:
            handler.setStream(before)


def _handlers() -> Iterator[logging.StreamHandler[Any]]:
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    for logger in loggers:
        if isinstance(logger, logging.Logger):  # others only hold a place
            yield from (handler for handler in logger.handlers if isinstance(handler, logging.StreamHandler))
