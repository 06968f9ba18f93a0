"""Keeps a Mac from falling asleep while it works. Elsewhere nothing happens."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def kept_awake(wanted: bool, on_start: Callable[[], None]) -> Iterator[None]:
    """No idle sleep until the block ends; ``on_start`` is called where that could be arranged.

    A closed lid still puts a laptop to sleep: nothing that a program may ask for stops that.
    """
    helper = _start() if wanted and sys.platform == "darwin" else None
    try:
        if helper is not None:
            on_start()
        yield
    finally:
        if helper is not None:
            helper.terminate()
            helper.wait()


def _start() -> subprocess.Popen[bytes] | None:
    """macOS's own tool, which ends by itself when this process does, however it does."""
    program = shutil.which("caffeinate")
    if program is None:
        return None
    # -i: the computer stays awake. Never -d: with the display kept on, macOS's watchdog stops long work on the GPU, and
    # some Macs restart (ml-explore/mlx#3267).
    command = [program, "-i", "-w", str(os.getpid())]
    try:
        # In a session of its own, so that Ctrl-C does not end it before this process has finished its last step.
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:  # training goes on without it
        return None
