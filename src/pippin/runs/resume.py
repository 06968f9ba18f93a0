"""Where an unfinished run goes on: the newest checkpoint that can be trusted, or the model where training is done.

A checkpoint holds the run's record under its manifest, and the model's own configuration and tokenizer. Nothing else is
asked: neither run.json, which may have been changed, nor the model that the run began with, which may be gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pippin.errors import PippinError
from pippin.files import is_plain_file
from pippin.recipe import Recipe
from pippin.runs.checkpoints import packing
from pippin.runs.checkpoints.manifest import FORMAT, problem_of, read, sha256
from pippin.runs.folder import CHECKPOINTS, RunFolder
from pippin.runs.model import model_problem
from pippin.runs.record import NAME as RECORD
from pippin.runs.record import Run, read_record


@dataclass(frozen=True)
class Start:
    path: Path
    """Holds the model as it was there: a checkpoint, or the run's own folder."""
    step: int
    record: Run
    """The run as it was there."""
    is_trained: bool = False
    """Whether all steps are done, and only what comes after them is left."""

    @cached_property
    def state(self) -> dict[str, Any]:
        """All that the next step depends on, beside the weights."""
        return packing.read(self.path)


def find_start(folder: RunFolder, skipped: Callable[[str, str], None], named: Path | None = None) -> Start | None:
    """Where the run in a folder goes on: from the checkpoint that is named, else where it was last.

    ``skipped`` hears name and reason of what is newer and cannot be used.
    """
    before = folder.before
    if named is not None:
        return _named_start(named, before)
    if before is None:
        return None
    if before.trained is not None:
        problem = model_problem(folder.path, before.trained.files)
        if problem is None:
            return Start(folder.path, before.plan.schedule.steps.value, before, is_trained=True)
        skipped("the trained model", problem)
    found = folder.store(before.id).newest()
    for name, reason in found.passed_over:
        skipped(name, reason)
    return None if found.path is None else _start_of(found.path, found.step)


def trusted_record(folder: Path) -> Run | None:
    """The record of the run in a folder: that of its newest checkpoint, which a manifest guards, else run.json.

    None where Pippin did not write the folder. Where the record is damaged and there is no checkpoint, that is raised.
    """
    problem = None
    try:
        own = read_record(folder)
    except PippinError as error:
        own, problem = None, error
    if own is not None and (own.is_finished or own.trained):
        return own
    records = [record for path in (folder / CHECKPOINTS).glob("step-*") if (record := _guarded_record(path))]
    if own is not None:
        return max((each for each in records if each[1].id == own.id), default=(0, own), key=lambda each: each[0])[1]
    if len({record.id for _, record in records}) > 1:
        raise PippinError(
            f"{folder / CHECKPOINTS} holds checkpoints of several runs, and nothing tells which belong to {folder}. "
            "Name one with --resume_from_checkpoint and a new --output_dir."
        )
    if problem is not None and not records:
        raise problem
    return max(records, key=lambda each: each[0])[1] if records else None


def _guarded_record(path: Path) -> tuple[int, Run] | None:
    """A checkpoint's step and record, where the record is as it was written."""
    manifest = read(path)
    if manifest is None or RECORD not in manifest.files or not is_plain_file(path / RECORD):
        return None
    if manifest.format != FORMAT or sha256(path / RECORD) != manifest.files[RECORD][1]:
        return None
    record = read_record(path)
    return None if record is None else (manifest.step, record)


def named_checkpoint(recipe: Recipe) -> Path | None:
    named = recipe.resume_from_checkpoint
    return None if named is None or named.lower() in ("true", "false") else Path(named)


def _named_start(path: Path, own: Run | None) -> Start:
    manifest = read(path)
    problem = problem_of(path) if path.is_dir() else "there is no such folder"
    if problem or manifest is None:
        raise PippinError(f"--resume_from_checkpoint {path}: {problem}. For the newest good one: --resume")
    start = _start_of(path, manifest.step)
    if own is not None and own.id != start.record.id:
        raise PippinError(
            f"--resume_from_checkpoint {path} belongs to another run than the output folder. Name a new --output_dir."
        )
    return start


def _start_of(path: Path, step: int) -> Start:
    """A checkpoint whose every byte is as it was written."""
    record = read_record(path)
    if record is None:
        raise PippinError(f"{path} holds no record of its run, so it cannot be resumed.")
    return Start(path, step, record)
