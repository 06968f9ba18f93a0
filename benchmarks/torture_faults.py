"""Faults of the disk: the k-th call that writes below a folder fails, in whatever language it was made.

A small C library, built on the spot and preloaded, stands before write, open, mkdir, fsync, rename and their like.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
#: What can happen at a call; the places are the numbers that the library knows.
FAULTS = ("count", "full", "broken", "short", "kill")


def restart_with_faults(folder: Path) -> None:
    """Build the library and start this program again with it; returns where it is loaded or cannot be had."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if available() or compiler is None or sys.platform != "linux":
        return
    library = folder / "torture_faults.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, "LD_PRELOAD": str(library)})


def available() -> bool:
    """Whether faults can be armed in this process and its children."""
    return hasattr(ctypes.CDLL(None), "torture_arm")


def arm(folder: str, fault: str = "count", call: int = 0) -> None:
    """From now on count the calls on the folder in this process, and let the given one fail."""
    if available():
        ctypes.CDLL(None).torture_arm(folder.encode(), FAULTS.index(fault), call)


def calls() -> dict[str, int]:
    """How many calls so far each fault would have concerned."""
    library = ctypes.CDLL(None)
    return {fault: library.torture_calls(place) for place, fault in enumerate(FAULTS)} if available() else {}


def spread(total: int, count: int) -> list[int]:
    """Up to count numbers from 1 to total, evenly."""
    if total <= count:
        return list(range(1, total + 1))
    return sorted({1 + round(place * (total - 1) / (count - 1)) for place in range(count)})
