"""Whose folder is it? A run's folder is new, empty, or Pippin's own; any other is left alone."""

from __future__ import annotations

import os
from dataclasses import fields
from itertools import takewhile
from pathlib import Path

from pippin.errors import PippinError
from pippin.files import is_staging, numbered
from pippin.recipe import Recipe
from pippin.runs.checkpoints.lock import NAME as LOCK
from pippin.runs.folder import CHECKPOINTS, RunFolder
from pippin.runs.names import checked_path, plain_name
from pippin.runs.record import Run, read_record
from pippin.runs.resume import trusted_record
from pippin.text import local_time

#: Settings that may name a path, which a run reads.
_INPUTS = (
    "data", "data_dir", "train_file", "validation_file", "test_file", "model_name_or_path", "config_name",
    "tokenizer_name",
)  # fmt: skip
_PATHS = (*_INPUTS, "cache_dir", "logging_dir", "resume_from_checkpoint")


def open_folder(recipe: Recipe, data_name: str) -> RunFolder:
    """The run's folder, free to be written: new, empty, or Pippin's own with --overwrite_output_dir or --resume."""
    if recipe.output_dir is None:
        _check_writable(Path("runs"))
        base = Path("runs") / plain_name(data_name)
        free = next(path for path in numbered(base, is_folder=True) if not path.exists())
        return (_last_unfinished(base) if recipe.wants_resume else None) or RunFolder(free)
    path = checked_path(recipe.output_dir)
    if path.exists() and not path.is_dir():
        raise PippinError(f"--output_dir {path} is a file; name a folder.")
    _check_writable(path)
    if not path.exists() or all(item.name == LOCK or is_staging(item.name) for item in path.iterdir()):
        return RunFolder(path)
    run = _run_in(path, recipe)
    if run is None:
        raise PippinError(
            f"--output_dir {path} is not empty and was not written by Pippin, so it is left alone. Name another folder."
        )
    if recipe.wants_resume:
        return RunFolder(path, run, resumes=True)
    if recipe.overwrite_output_dir:
        _check_inputs(path, recipe, run)
        return RunFolder(path, run)
    if run.is_finished or not run.trains:
        raise PippinError(
            f"--output_dir {path} holds a run of {local_time(run.started)}. "
            "Add --overwrite_output_dir to replace it, or name another folder."
        )
    raise PippinError(
        f"--output_dir {path} holds an unfinished run of {local_time(run.started)}. Add --resume to continue it, or "
        "--overwrite_output_dir to start over."
    )


def inputs_of(recipe: Recipe) -> set[Path]:
    """The files and folders here that a run reads."""
    named = [Path(value) for name in _INPUTS if (value := getattr(recipe, name))]
    return {path.resolve() for path in named if path.exists()}


def located(recipe: Recipe, directory: str) -> Recipe:
    """The same with the paths of a recipe that was written elsewhere as they are from here."""
    if not directory or os.path.abspath(directory) == os.getcwd():
        return recipe
    there = Path(directory)
    values = {item.name: getattr(recipe, item.name) for item in fields(recipe)}
    moved = {name: str(there / value) for name in _PATHS if (value := values[name]) and (there / value).exists()}
    return Recipe(**{**values, **moved})


def _run_in(path: Path, recipe: Recipe) -> Run | None:
    """The run that a folder holds. Where its record is lost, checkpoints have copies."""
    try:
        return read_record(path) or trusted_record(path)
    except PippinError as error:
        problem = str(error)
    try:
        run = trusted_record(path)
    except PippinError:
        raise PippinError(
            f"{problem} Nothing else in the folder tells what Pippin wrote there, so it is left alone. "
            "Name another --output_dir, or remove the folder yourself."
        ) from None
    if not (recipe.wants_resume or recipe.overwrite_output_dir):
        raise PippinError(
            f"{problem} Add --resume to continue from the newest checkpoint, or --overwrite_output_dir to start over."
        )
    return run


def _check_inputs(path: Path, recipe: Recipe, run: Run) -> None:
    """Refuse to overwrite what the run reads, where it could not survive until the new model is there."""
    home = path.resolve()
    for each in inputs_of(recipe):
        in_checkpoints = each.is_relative_to(home / CHECKPOINTS)
        is_used_as_it_is = not recipe.wants_training and (
            each == home or (each.parent == home and each.name in run.files)
        )
        if in_checkpoints or is_used_as_it_is:
            raise PippinError(
                f"--overwrite_output_dir would delete {each}, which this run reads. Name another --output_dir."
            )


def _check_writable(path: Path) -> None:
    """Refuse a place where no folder can be made, before hours of work end there."""
    nearest = next(parent for parent in [path, *path.absolute().parents] if parent.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise PippinError(f"{path} cannot be written: {nearest} is not writable. Name another --output_dir.")


def _last_unfinished(base: Path) -> RunFolder | None:
    """The newest run of this name, where it can go on."""
    taken = list(takewhile(Path.exists, numbered(base, is_folder=True)))
    run = _run_in(taken[-1], Recipe(resume=True)) if taken else None
    return RunFolder(taken[-1], run, resumes=True) if run is not None and not run.is_finished else None
