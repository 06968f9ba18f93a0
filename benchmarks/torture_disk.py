"""Disks that refuse: a fault at the k-th write call, and small disks that fill up; then the same command with room."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import torture_faults
from torture_bench import Bench, Tally, last_line
from torture_child import Child
from torture_job import RUN, PippinJob, fault_of

MEGABYTE = 2**20


def faults_at_calls(bench: Bench, fault: str, count: int) -> Tally:
    """The k-th write call meets a disk that is full from then on, or broken once, or takes only half (`short`)."""
    tally = Tally()
    for call in torture_faults.spread(bench.calls[fault], count):
        folder = bench.fresh(f"{fault}-{call}")
        child = bench.tool.start(folder, before=partial(torture_faults.arm, RUN, fault, call))
        judge_stop(bench, folder, child, tally, fault)
        bench.judge_resume(folder, tally)
    return tally


def filled_while_saving(bench: Bench, count: int, megabytes: int) -> Tally | None:
    """On a disk of its own, another program takes all room but a part of a checkpoint just as a save begins.

    None where this process may not mount a disk.
    """
    tally = Tally()
    for number in range(count):
        folder = bench.fresh(f"filled-{number}")
        if not mount(folder, megabytes):
            return None
        try:
            step = bench.draw.choice(bench.tool.save_points)
            child = bench.tool.start(folder)
            if child.wait_for(partial(bench.tool.save_has_begun, folder, step)):
                fill(folder, leave=bench.draw.randint(0, _largest(bench.tool.checkpoints(folder))))
            judge_stop(bench, folder, child, tally, "full")
            (folder / "ballast").unlink(missing_ok=True)
            bench.judge_resume(folder, tally, keep=True)
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=False)
    return tally


def too_small_disks(bench: Bench, sizes: list[int]) -> Tally | None:
    """Disks of so many megabytes, then one with room: refused before training, or finished, never half done."""
    tally = Tally()
    for megabytes in sizes:
        folder = bench.fresh(f"disk-of-{megabytes}-MB")
        if not mount(folder, megabytes):
            return None
        try:
            child = bench.tool.start(folder)
            judge_stop(bench, folder, child, tally, "full")
            subprocess.run(["mount", "-o", "remount,size=1g", str(folder)], check=True)
            bench.judge_resume(folder, tally, keep=True)
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=False)
    return tally


def judge_stop(bench: Bench, folder: Path, child: Child, tally: Tally, fault: str) -> None:
    """A run that met the fault and went on must be right; one that stopped must say why, and keep what it had."""
    code = child.wait()
    if code == 0:
        tally.count("went on unharmed", bench.tool.result(folder) == bench.reference)
        return
    tally.count("stopped")
    plain = tally.count("in plain words", not child.crashed)
    named = tally.count("naming the path and the trouble", _names_the_trouble(child.errors, fault, folder))
    problems: list[str] = []
    if isinstance(bench.tool, PippinJob):
        problems = [f"{path.name}: {fault_of(path)}" for path in bench.tool.checkpoints(folder) if fault_of(path)]
        tally.count("checkpoints whole", not problems)
    if not (plain and named) or problems:
        tally.fail(folder, f"exit code {code}, {problems or 'checkpoints whole'}, said: {last_line(child)}")


def mount(folder: Path, megabytes: int) -> bool:
    """A small disk in memory; False where that is not allowed."""
    size = f"size={megabytes}m"
    mounting = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], capture_output=True)
    return mounting.returncode == 0


def fill(folder: Path, leave: int) -> None:
    """Take all room of a disk but so many bytes."""
    handle = os.open(folder / "ballast", os.O_WRONLY | os.O_CREAT)
    try:
        os.posix_fallocate(handle, 0, max(1, shutil.disk_usage(folder).free - leave))
    except OSError as error:  # the run took the last of it meanwhile
        if error.errno != errno.ENOSPC:
            raise
    finally:
        os.close(handle)


def _names_the_trouble(said: str, fault: str, folder: Path) -> bool:
    """The path and the fault; of a full disk also what is free, and what is needed once the run knows."""
    if fault != "full":
        return RUN in said and re.search(r"[Ii]nput/output error", said) is not None
    words = ["disk", r"\d\S* \wB free"] + ["need"] * (folder / RUN / "run.json").exists()
    return RUN in said and all(re.search(word, said) for word in words)


def _largest(checkpoints: list[Path]) -> int:
    sizes = [sum(file.stat().st_size for file in path.glob("*")) for path in checkpoints if path.exists()]
    return max(sizes, default=MEGABYTE)
