"""What every kind of trial shares: the uninterrupted run to compare with, fresh folders, and the tally of outcomes."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torture_faults
from torture_child import Child, preload
from torture_job import RUN, Result, Tool


@dataclass
class Tally:
    """Outcomes of one kind of trial, in the order in which they were first met."""

    trials: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    """What broke a promise, with what was said last."""

    def count(self, outcome: str, happened: bool = True) -> bool:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + bool(happened)
        return bool(happened)

    def fail(self, folder: Path, why: str) -> None:
        self.failures.append(f"{folder.name}: {why}")

    def as_json(self) -> dict[str, Any]:
        return {"trials": self.trials, **self.outcomes, "failures": self.failures}


class Bench:
    """A tool with its uninterrupted run."""

    def __init__(self, tool: Tool, folder: Path, seed: int = 0):
        self.tool, self.folder = tool, folder
        self.draw = random.Random(seed)
        self.save_seconds = 0.0
        """Of a save, seen from outside."""
        first, second = self.fresh("reference"), self.fresh("reference-again")
        preload(self._undisturbed(first).legacy["modules"])
        began = time.monotonic()
        self.calls: dict[str, int] = self._undisturbed(second).legacy["calls"]
        """Write calls of a run that each fault concerns."""
        self.seconds = time.monotonic() - began
        """Of an undisturbed run."""
        reference, again = tool.result(first), tool.result(second)
        if reference is None or reference != again:
            raise RuntimeError(f"{tool.name}: two undisturbed runs differ, so nothing can be compared with them")
        self.reference: Result = reference

    def fresh(self, name: str) -> Path:
        """A new folder for a trial."""
        path = self.folder / f"{self.tool.name}-{name}"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def after_seconds(self, child: Child, seconds: float) -> bool:
        """Let the child run on; False where it ended before."""
        ends = time.monotonic() + seconds
        return child.wait_for(lambda: time.monotonic() >= ends) and child.running

    def judge_resume(
        self, folder: Path, tally: Tally, start: Callable[[], Child] | None = None, keep: bool = False
    ) -> Child:
        """The same command again: does it finish, with nothing different? The folder of a failure stays."""
        child = start() if start else self.tool.start(folder, resume=True)
        code = child.wait()
        finished = code == 0
        same = finished and self.tool.result(folder) == self.reference
        tally.trials += 1
        tally.count("resumed and finished", finished)
        tally.count("bit-identical", same)
        if not finished:
            tally.fail(folder, f"exit code {code}: {last_line(child)}")
        elif not same:
            tally.fail(folder, f"finished, but differs: {self._difference(folder)}")
        elif not keep:
            shutil.rmtree(folder)
        return child

    def killed_run(self) -> Path:
        """A run killed near its end, when it had written two checkpoints and no more was begun: to be copied."""
        folder, step = self.fresh("killed"), self.tool.save_points[-1]
        child = self.tool.start(folder)
        child.wait_for(lambda: self.tool.save_has_begun(folder, step) and not self.tool.save_was_cut(folder, step))
        child.send(signal.SIGKILL)
        child.wait()
        assert len(self.tool.checkpoints(folder)) >= 2, "a template needs two checkpoints"
        return folder

    def _difference(self, folder: Path) -> str:
        result = self.tool.result(folder)
        if result is None:
            return "no finished model"
        if result.history == self.reference.history:
            return "the weights alone"
        pairs = zip(result.history, self.reference.history, strict=False)
        first = next((f"{ours} for {theirs}" for ours, theirs in pairs if ours != theirs), "one is longer")
        weights = "same weights" if result.weights == self.reference.weights else "other weights"
        return f"{weights}; {len(result.history)} of {len(self.reference.history)} events, {first}"

    def _undisturbed(self, folder: Path) -> Child:
        """A run that is only looked at: how long its saves take, and what calls it makes."""
        child = self.tool.start(folder, before=partial(torture_faults.arm, RUN))
        times = []
        for step in self.tool.save_points[1:4]:
            child.wait_for(partial(self.tool.save_has_begun, folder, step))
            began = time.monotonic()
            child.wait_for(lambda step=step: not self.tool.save_was_cut(folder, step))
            times.append(time.monotonic() - began)
        if child.wait():
            raise RuntimeError(f"{self.tool.name}: an undisturbed run failed:\n{child.said}")
        self.save_seconds = sum(times) / len(times)
        return child


def last_line(child: Child) -> str:
    """The last thing that a program said on its way out."""
    lines = [line.strip() for line in (child.errors.strip() or child.said.strip()).splitlines()]
    return lines[-1][:300] if lines else "(nothing was said)"
