"""A run whose input lies in its own output folder: killed at any moment, the only copy must survive."""

from __future__ import annotations

import shutil
import signal
from functools import partial
from pathlib import Path

import torture_faults
from torture_bench import Bench, Tally, last_line
from torture_job import RUN, PippinJob, sha256


def killed_in_place(bench: Bench, count: int) -> Tally:
    """A run with `--model_name_or_path R --output_dir R`, killed at a write call; then `pippin resume R`."""
    job, tally = bench.tool, Tally()
    assert isinstance(job, PippinJob)
    first = bench.fresh("before-in-place")
    if job.start(first).wait():
        raise RuntimeError("the run that is to be trained on failed")
    wanted, calls = _undisturbed(bench, job, first)
    for call in torture_faults.spread(calls, count):
        folder = _copy(bench, first, f"in-place-{call}")
        child = job.call(folder, _command(job), "again", partial(torture_faults.arm, RUN, "kill", call))
        if child.wait() != -signal.SIGKILL:
            continue
        tally.trials += 1
        child = job.call(folder, ["resume", RUN], "resumed")
        done = child.wait() == 0 and sha256(folder / RUN / "model.safetensors") == wanted
        if not done and "nothing to resume" in child.said:  # not begun yet: the same command is what a user types
            child = job.call(folder, _command(job), "once-more")
            child.wait()
        finished = tally.count("went on and finished", child.code == 0)
        same = tally.count("bit-identical", finished and sha256(folder / RUN / "model.safetensors") == wanted)
        if not same:
            tally.fail(folder, f"exit code {child.code}: {last_line(child)}")
        else:
            shutil.rmtree(folder)
    return tally


def _undisturbed(bench: Bench, job: PippinJob, first: Path) -> tuple[str, int]:
    """The weights that must come out, and how many calls change the folder."""
    folder = _copy(bench, first, "in-place")
    child = job.call(folder, _command(job), "again", partial(torture_faults.arm, RUN))
    if child.wait():
        raise RuntimeError(f"training in place failed: {child.said}")
    return sha256(folder / RUN / "model.safetensors"), child.legacy["calls"]["kill"]


def _command(job: PippinJob) -> list[str]:
    words = job.command("--overwrite_output_dir")
    return [RUN if word == str(job.model) else word for word in words]


def _copy(bench: Bench, first: Path, name: str) -> Path:
    folder = bench.fresh(name)
    shutil.copytree(first / RUN, folder / RUN)
    return folder
