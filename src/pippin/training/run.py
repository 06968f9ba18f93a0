"""The Run: one job's folder and its record, run.json. Only what the record names is ever deleted."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pippin._version import __version__
from pippin.errors import PippinError
from pippin.machine.machine import Machine
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.records import from_json, to_json

#: Number of the folder's format; raised when an older version could not read it.
FORMAT = 1
_COPY_NAME = re.compile(r"step-\d+|\.step-\d+\.partial")
_RECORD, _EVENTS, _CHECKPOINTS, _STAGING = "run.json", "events.jsonl", "checkpoints", ".pippin-staging"


@dataclass(frozen=True)
class DataCard:
    """What was learnt from: enough to use the model again on new rows."""

    name: str
    task: str | None
    text_columns: tuple[str, ...]
    label_column: str
    classes: tuple[str, ...]
    regression: bool
    rows: dict[str, int]
    """Rows of each split."""
    columns_reason: str


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


def now() -> str:
    """The time as run.json writes it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


class RunFolder:
    """The folder on disk. Files appear in it whole or not at all."""

    def __init__(self, path: Path):
        self.path = path
        self.run: Run | None = None

    @property
    def events_path(self) -> Path:
        return self.path / _EVENTS

    @property
    def checkpoints(self) -> Path:
        return self.path / _CHECKPOINTS

    def begin(self, run: Run) -> None:
        """Make the folder and write the record."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.run = replace(run, files=(_RECORD, _EVENTS))
        self._write_record()

    def update(self, **changes: Any) -> None:
        """Change the record."""
        assert self.run is not None
        self.run = replace(self.run, **changes)
        self._write_record()

    def write(self, name: str, text: str) -> Path:
        """Write one file atomically and remember that it is ours."""
        return self.fill(lambda folder: (folder / name).write_text(text, encoding="utf-8"), [name])[0]

    def write_json(self, name: str, data: Any) -> Path:
        return self.write(name, json.dumps(data, indent=2, ensure_ascii=False) + "\n")

    def fill(self, make: Callable[[Path], Any], names: list[str] | None = None) -> list[Path]:
        """Let ``make`` write files into a staging folder, then move each into place."""
        assert self.run is not None
        staging = self.path / _STAGING
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir()
        make(staging)
        made = sorted(item.name for item in staging.iterdir()) if names is None else names
        new = tuple(name for name in made if name not in self.run.files)
        if new:
            self.update(files=(*self.run.files, *new))
        for name in made:
            os.chmod(staging / name, _usual_mode())  # safetensors makes files that only the owner may read
            os.replace(staging / name, self.path / name)
        staging.rmdir()
        return [self.path / name for name in made]

    def _write_record(self) -> None:
        assert self.run is not None
        partial = self.path / (_RECORD + ".partial")
        partial.write_text(json.dumps(to_json(self.run), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(partial, self.path / _RECORD)


def read_run(folder: Path) -> Run | None:
    """The record of a folder that Pippin wrote, or None."""
    try:
        data = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        return from_json(Run, data) if "pippin" in data else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def open_folder(recipe: Recipe, data_name: str) -> RunFolder:
    """The run's folder, free to be written: new, empty, or Pippin's own with --overwrite_output_dir."""
    if recipe.output_dir is None:
        _check_writable(Path("runs"))
        base = Path("runs") / "".join(c if c.isalnum() or c in "._-" else "-" for c in data_name)
        return RunFolder(next(path for path in _numbered(base) if not path.exists()))
    path = Path(recipe.output_dir)
    if path.exists() and not path.is_dir():
        raise PippinError(f"--output_dir {path} is a file; name a folder.")
    _check_writable(path)
    if not path.exists() or not any(path.iterdir()):
        return RunFolder(path)
    run = read_run(path)
    if run is None:
        raise PippinError(
            f"--output_dir {path} is not empty and was not written by Pippin, so it is left alone. Name another folder."
        )
    if not recipe.overwrite_output_dir:
        raise PippinError(
            f"--output_dir {path} holds a run of {run.started}. "
            "Add --overwrite_output_dir to replace it, or name another folder."
        )
    return RunFolder(path)


def clear(folder: RunFolder) -> None:
    """Delete what an earlier run wrote, by its own record; anything else in the folder stays."""
    run = read_run(folder.path)
    if run is None:
        return
    for name in run.files:
        if Path(name).name == name and (folder.path / name).is_file():
            (folder.path / name).unlink()
    if folder.checkpoints.is_dir() and not folder.checkpoints.is_symlink():
        for copy in folder.checkpoints.iterdir():
            if _COPY_NAME.fullmatch(copy.name) and copy.is_dir() and not copy.is_symlink():
                shutil.rmtree(copy)
        if not any(folder.checkpoints.iterdir()):
            folder.checkpoints.rmdir()
    shutil.rmtree(folder.path / _STAGING, ignore_errors=True)


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


def _numbered(base: Path) -> Iterator[Path]:
    yield base
    number = 2
    while True:
        yield base.with_name(f"{base.name}-{number}")
        number += 1
