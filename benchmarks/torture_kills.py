"""Processes killed with SIGKILL, once and again and again, and stopped by signals; then the same command."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torture_faults
from torture_bench import Bench, Tally
from torture_child import Child
from torture_job import RUN, PippinJob, fault_of

#: What stops a run: name, signals, exit code.
SIGNALS = (
    ("SIGINT", (signal.SIGINT,), 130),
    ("SIGTERM", (signal.SIGTERM,), 143),
    ("SIGHUP", (signal.SIGHUP,), 129),
    ("SIGINT twice", (signal.SIGINT, signal.SIGINT), 130),
)
#: Write calls after which a run has its record and no checkpoint.
_EARLY = 15


def killed_at_random(bench: Bench, count: int) -> Tally:
    """SIGKILL at times drawn evenly from the length of a run."""
    tally = Tally()
    while tally.trials < count:
        folder = bench.fresh(f"random-{tally.trials}")
        child = bench.tool.start(folder)
        bench.after_seconds(child, bench.draw.uniform(0, bench.seconds))
        child.send(signal.SIGKILL)
        if child.wait() == -signal.SIGKILL:  # a run that was done before is not counted
            tally.count("before the first checkpoint", not bench.tool.checkpoints(folder))
            bench.judge_resume(folder, tally)
    return tally


def killed_inside_saves(bench: Bench, count: int) -> Tally:
    """SIGKILL while a checkpoint is being written: only those count that left it unfinished."""
    tally, tries = Tally(), 0
    while tally.trials < count and tries < 20 * count:
        tries += 1
        folder, step = bench.fresh(f"inside-{tally.trials}"), bench.draw.choice(bench.tool.save_points)
        child = bench.tool.start(folder)
        if child.wait_for(partial(bench.tool.save_has_begun, folder, step)):
            bench.after_seconds(child, bench.draw.uniform(0, bench.save_seconds))
        child.send(signal.SIGKILL)
        child.wait()
        if bench.tool.save_was_cut(folder, step):
            bench.judge_resume(folder, tally)
    return tally


def killed_at_calls(bench: Bench, count: int) -> Tally:
    """SIGKILL at the k-th call that changes the run's folder, in the middle of it where it writes."""
    tally = Tally()
    for call in torture_faults.spread(bench.calls["kill"], count):
        folder = bench.fresh(f"call-{call}")
        child = bench.tool.start(folder, before=partial(torture_faults.arm, RUN, "kill", call))
        if child.wait() == -signal.SIGKILL:
            bench.judge_resume(folder, tally)
    return tally


def killed_while_resuming(bench: Bench, count: int) -> Tally:
    """SIGKILL at the first calls of a resume: of a run that had checkpoints, and of one that had none."""
    tally = Tally()
    early, late = bench.fresh("killed-early"), bench.killed_run()
    bench.tool.start(early, before=partial(torture_faults.arm, RUN, "kill", _EARLY)).wait()
    for number in range(count):
        folder = bench.fresh(f"resuming-{('early', 'late')[number % 2]}-{number // 2 + 1}")
        shutil.copytree((early, late)[number % 2], folder, dirs_exist_ok=True)
        before = partial(torture_faults.arm, RUN, "kill", number // 2 + 1)
        if bench.tool.start(folder, resume=True, before=before).wait() == -signal.SIGKILL:
            bench.judge_resume(folder, tally)
    return tally


def killed_in_a_chain(bench: Bench, kills: int) -> Tally:
    """One run, killed again and again as it gets on; then let be."""
    job, tally, folder = _pippin(bench), Tally(), bench.fresh(f"chain-of-{kills}")
    done = 0
    while done < kills:
        child = job.start(folder, resume=done > 0)
        target = (job.steps * (done + 1)) // (kills + 1)
        child.wait_for(lambda target=target: job.last_step(folder) >= target)
        bench.after_seconds(child, bench.draw.uniform(0, 2 * bench.save_seconds))
        child.send(signal.SIGKILL)
        if child.wait() != -signal.SIGKILL:
            tally.fail(folder, f"ended by itself before kill {done + 1}")
            break
        done += 1
    tally.count("kills", False)
    tally.outcomes["kills"] = done
    bench.judge_resume(folder, tally)
    return tally


def stopped_by_signals(bench: Bench, rounds: int = 1) -> Tally:
    """Ctrl-C and its like: the step is finished and saved, the words to go on are said, the exit code is the usual."""
    job, tally = _pippin(bench), Tally()
    for number in range(rounds):
        for name, signals, code in SIGNALS:
            folder = bench.fresh(f"{name.replace(' ', '-')}-{number}")
            child = job.start(folder)
            middle = bench.draw.randint(2, job.steps - 4)
            child.wait_for(lambda folder=folder, middle=middle: job.last_step(folder) >= middle)
            for sent, each in enumerate(signals):
                if sent:  # the second, once the first has been taken note of
                    child.wait_for(lambda child=child: bool(child.errors.strip()))
                child.send(each)
            _judge_stop(job, folder, child, code, len(signals) > 1, tally)
            bench.judge_resume(folder, tally, _resume_command(job, folder) if number % 2 == 0 else None)
    return tally


def _judge_stop(job: PippinJob, folder: Path, child: Child, code: int, at_once: bool, tally: Tally) -> None:
    got = child.wait()
    right_code = tally.count("exit code right", got == code)
    saved = [int(path.name.removeprefix("step-")) for path in job.checkpoints(folder)]
    last = job.last_step(folder)
    nothing_lost = tally.count("last step saved, or stopped at once", at_once or (saved or [0])[-1] == last)
    told = tally.count("told how to resume", re.search(rf"pippin resume \S*{RUN}", child.said) is not None)
    whole = tally.count("checkpoints whole", all(fault_of(path) is None for path in job.checkpoints(folder)))
    if not (right_code and nothing_lost and told and whole) or child.crashed:
        tally.fail(folder, f"exit code {got}, saved {saved}, last step {last}, said: {child.errors.strip()[-300:]}")


def _resume_command(job: PippinJob, folder: Path) -> Callable[[], Child]:
    return lambda: job.call(folder, ["resume", RUN], "again")


def _pippin(bench: Bench) -> PippinJob:
    assert isinstance(bench.tool, PippinJob)
    return bench.tool
