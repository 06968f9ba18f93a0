"""Log lines of other libraries above a live bar: their handlers hold standard error itself, and would write into it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


@contextmanager
def loggers_follow(before: TextIO) -> Iterator[None]:
    """While standard error is another stream than ``before``, what loggers wrote there goes to the new one."""
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    handlers = [handler for each in loggers if isinstance(each, logging.Logger) for handler in each.handlers]
    moved = [each for each in handlers if isinstance(each, logging.StreamHandler) and each.stream is before]
    for handler in moved:
        handler.setStream(sys.stderr)
    try:
        yield
    finally:
        for handler in moved:
            handler.setStream(before)
