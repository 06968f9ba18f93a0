"""All runs in a folder, as plain data: for the terminal, for the index page, and for other programs."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.errors import PippinError
from pippin.report.page.history import read_history
from pippin.report.page.metric_names import loss_last
from pippin.report.page.run_page import NAME as PAGE
from pippin.report.report import scores
from pippin.runs.checkpoints.lock import is_in_use
from pippin.runs.folder import CHECKPOINTS, EVENTS, is_page
from pippin.runs.record import NAME as RECORD
from pippin.runs.record import Run, read_record

#: Runs lie in the folder itself or in folders below it, so deep.
_DEEPEST = 3


@dataclass(frozen=True)
class ListedRun:
    name: str
    """Its place in the folder that was listed."""
    path: str
    status: str
    """finished, running, interrupted, failed, or killed: it says that it runs, and no process is at work on it."""
    model: str
    data: str
    rows: int
    """That it trains on."""
    started: str
    seconds: float | None
    """Of training; None where that is not known."""
    step: int | None
    """The last one that was told of; None for a finished run."""
    steps: int
    scores: dict[str, float]
    """Of the test rows where it has any, else of the validation rows, the loss last."""
    baselines: dict[str, float]
    """What the simplest answer to every one of these rows would score."""
    scored_on: str
    """`test`, `validation`, or nothing."""
    scored_at: int | None
    """The step of that evaluation, for a run that is not finished."""
    resume: str
    """What continues it; nothing for one that is finished or at work."""
    page: str
    """Its page; nothing where it has none."""

    @property
    def scored_words(self) -> str:
        """What the scores were measured on: `test`, or the step of an unfinished run."""
        return self.scored_on if self.scored_at is None else f"step {self.scored_at}"


@dataclass(frozen=True)
class Unreadable:
    path: str
    problem: str


@dataclass(frozen=True)
class Listing:
    folder: str
    runs: tuple[ListedRun, ...]
    """The newest first."""
    unreadable: tuple[Unreadable, ...]
    """Runs whose record is damaged."""


def list_runs(folder: Path) -> Listing:
    """Every run in a folder, whatever state it is in."""
    if not folder.is_dir():
        raise PippinError(
            f"there is no folder {folder}. Name the folder that holds your runs, or make a run: pippin train FILE"
        )
    runs: list[ListedRun] = []
    unreadable: list[Unreadable] = []
    for path in _run_folders(folder):
        try:
            run = read_record(path)
        except PippinError as error:
            unreadable.append(Unreadable(str(path), str(error)))
            continue
        if run is not None:
            runs.append(_listed(folder, path, run))
    runs.sort(key=lambda each: (each.started, each.name), reverse=True)
    return Listing(str(folder), tuple(runs), tuple(sorted(unreadable, key=lambda each: each.path)))


def _run_folders(folder: Path, depth: int = 0) -> Iterator[Path]:
    """Folders that hold a record. What lies inside a run is its own."""
    if os.path.lexists(folder / RECORD):
        yield folder
    elif depth < _DEEPEST:
        try:
            inside = sorted(os.scandir(folder), key=lambda each: each.name)
        except OSError:  # somebody else's
            return
        for each in inside:
            if each.is_dir(follow_symlinks=False) and not each.name.startswith(".") and each.name != CHECKPOINTS:
                yield from _run_folders(folder / each.name, depth + 1)


def _listed(folder: Path, path: Path, run: Run) -> ListedRun:
    status = run.status
    if status == "started":
        status = "running" if is_in_use(path) else "killed"
    results: dict[str, Any] = run.results
    seconds, step = results.get("train_runtime"), None
    if not run.is_finished:
        history = read_history(path / EVENTS)
        seconds, step = history.seconds, history.step
        results = history.evaluations[-1] if history.evaluations else {}
    found = {title: loss_last(results, split) for split, title in (("test", "test"), ("eval", "validation"))}
    scored_on = next((title for title, values in found.items() if values), "")
    at = results.get("step") if scored_on and not run.is_finished else None
    return ListedRun(
        name=str(path.relative_to(folder)) if path != folder else path.resolve().name,
        path=str(path),
        status=status,
        model=run.model,
        data=run.data.name,
        rows=run.data.rows.get("train", 0),
        started=run.started,
        seconds=seconds,
        step=step,
        steps=run.plan.schedule.steps.value,
        scores=found.get(scored_on, {}),
        baselines=scores(run.data.baselines, "test" if scored_on == "test" else "eval"),
        scored_on=scored_on,
        scored_at=int(at) if at is not None and math.isfinite(at) else None,
        resume="" if status in ("finished", "running") else f"pippin resume {shlex.quote(str(path))}",
        page=str(path / PAGE) if is_page(path / PAGE) else "",
    )
