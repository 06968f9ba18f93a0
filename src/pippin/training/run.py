"""The Run: one job's folder and its record, run.json. Only what the record names is ever deleted."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import takewhile
from pathlib import Path
from typing import Any

from pippin._version import __version__
from pippin.checkpoints.lock import NAME as LOCK
from pippin.checkpoints.store import Store
from pippin.errors import PippinError
from pippin.files import as_bytes, is_staging, remove_leftovers, staging_folder, sync, write_text
from pippin.machine.machine import Machine
from pippin.plain_files import read_json
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.records import from_json, to_json
from pippin.training.data_card import DataCard
from pippin.training.names import checked_path, plain_name

#: Number of the folder's format; raised when an older version could not read it.
FORMAT = 1
EVENTS = "events.jsonl"
_RECORD, _CHECKPOINTS = "run.json", "checkpoints"


@dataclass(frozen=True)
class Run:
    """The record of a run, written first and kept up to date."""

    recipe: Recipe
    machine: Machine
    plan: Plan
    data: DataCard
    model: str
    started: str
    status: str = "started"
    """started, finished, interrupted or failed."""
    pippin: str = __version__
    format: int = FORMAT
    files: tuple[str, ...] = ()
    """Names that Pippin wrote into the folder."""
    results: dict[str, Any] = field(default_factory=dict)
    fingerprint: str = ""
    """Of the training and validation rows."""
    resumed: tuple[str, ...] = ()
    """When and from which step the run went on."""

    @property
    def trains(self) -> bool:
        return self.recipe.wants_training


def now() -> str:
    """The time as run.json writes it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


class RunFolder:
    """The folder on disk. Files appear in it whole or not at all."""

    def __init__(self, path: Path, before: Run | None = None):
        self.path, self.before = path, before
        self.run: Run | None = None

    @property
    def events_path(self) -> Path:
        return self.path / EVENTS

    @property
    def checkpoints(self) -> Path:
        return self.path / _CHECKPOINTS

    def begin(self, run: Run) -> None:
        """Make the folder and write the record, and delete what an earlier run wrote, by its own record.

        The order matters where it is cut short: the folder is known as ours at every moment, and no checkpoint of the
        earlier run is ever beside the record of this one. Anything else in the folder stays.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        before = read_run(self.path)
        old = before.files if before else ()
        if before:
            Store(self.checkpoints).drop_all()
        self.run = replace(run, files=tuple(dict.fromkeys((_RECORD, EVENTS, *old))))
        self._write_record()
        for name in old:
            if name != _RECORD and Path(name).name == name and (self.path / name).is_file():
                (self.path / name).unlink()
        remove_leftovers(self.path)
        self.update(files=(_RECORD, EVENTS))

    def go_on(self, run: Run, step: int) -> None:
        """Take up the record of an unfinished run."""
        assert self.before is not None
        resumed = (*self.before.resumed, f"{now()} from step {step}")
        self.run = replace(run, started=self.before.started, files=self.before.files, resumed=resumed)
        self._write_record()
        remove_leftovers(self.path)

    def update(self, **changes: Any) -> None:
        """Change the record."""
        assert self.run is not None
        self.run = replace(self.run, **changes)
        self._write_record()

    def claim(self, name: str) -> None:
        """Remember that a file of this name is ours, before it is there."""
        assert self.run is not None
        if name not in self.run.files:
            self.update(files=(*self.run.files, name))

    def write(self, name: str, text: str) -> Path:
        """Write one file atomically and remember that it is ours."""
        return self.fill(lambda folder: (folder / name).write_bytes(as_bytes(text)), [name])[0]

    def write_json(self, name: str, data: Any) -> Path:
        return self.write(name, json.dumps(data, indent=2, ensure_ascii=False) + "\n")

    def fill(self, make: Callable[[Path], Any], names: list[str] | None = None) -> list[Path]:
        """Let ``make`` write files into a staging folder, then move each into place."""
        assert self.run is not None
        staging = staging_folder(self.path)
        make(staging)
        made = sorted(item.name for item in staging.iterdir()) if names is None else names
        new = tuple(name for name in made if name not in self.run.files)
        if new:
            self.update(files=(*self.run.files, *new))
        for name in made:
            os.chmod(staging / name, _usual_mode())  # safetensors makes files that only the owner may read
            sync(staging / name)
            os.replace(staging / name, self.path / name)
        staging.rmdir()
        sync(self.path)
        return [self.path / name for name in made]

    def _write_record(self) -> None:
        assert self.run is not None
        write_text(self.path / _RECORD, json.dumps(to_json(self.run), indent=2, ensure_ascii=False) + "\n")


def read_run(folder: Path) -> Run | None:
    """The record of a folder that Pippin wrote, or None."""
    try:
        data = read_json(folder / _RECORD)
        return from_json(Run, data) if isinstance(data, dict) and "pippin" in data else None
    except (OSError, ValueError):
        return None


def open_folder(recipe: Recipe, data_name: str) -> RunFolder:
    """The run's folder, free to be written: new, empty, or Pippin's own with --overwrite_output_dir."""
    if recipe.output_dir is None:
        _check_writable(Path("runs"))
        base = Path("runs") / plain_name(data_name)
        free = next(path for path in _numbered(base) if not path.exists())
        return (_last_unfinished(base) if recipe.wants_resume else None) or RunFolder(free)
    path = checked_path(recipe.output_dir)
    if path.exists() and not path.is_dir():
        raise PippinError(f"--output_dir {path} is a file; name a folder.")
    _check_writable(path)
    if not path.exists() or all(item.name == LOCK or is_staging(item.name) for item in path.iterdir()):
        return RunFolder(path)
    run = read_run(path)
    if run is None:
        raise PippinError(
            f"--output_dir {path} is not empty and was not written by Pippin, so it is left alone. Name another folder."
        )
    if recipe.overwrite_output_dir and not recipe.wants_resume:
        return RunFolder(path)
    if recipe.wants_resume:
        return RunFolder(path, before=run)
    if run.status == "finished" or not run.trains:
        raise PippinError(
            f"--output_dir {path} holds a run of {run.started}. "
            "Add --overwrite_output_dir to replace it, or name another folder."
        )
    raise PippinError(
        f"--output_dir {path} holds an unfinished run of {run.started}. Add --resume to go on with it, or "
        "--overwrite_output_dir to start anew."
    )


def _check_writable(path: Path) -> None:
    """Refuse a place where no folder can be made, before hours of work end there."""
    nearest = next(parent for parent in [path, *path.absolute().parents] if parent.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise PippinError(f"{path} cannot be written: {nearest} allows no new files. Name another --output_dir.")


def _usual_mode() -> int:
    """The permissions that a plain new file would get."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _last_unfinished(base: Path) -> RunFolder | None:
    """The newest run of this name, where it can go on."""
    taken = list(takewhile(Path.exists, _numbered(base)))
    run = read_run(taken[-1]) if taken else None
    return RunFolder(taken[-1], before=run) if run is not None and run.status != "finished" else None


def _numbered(base: Path) -> Iterator[Path]:
    yield base
    number = 2
    while True:
        yield base.with_name(f"{base.name}-{number}")
        number += 1
