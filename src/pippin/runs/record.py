"""The record of a run, run.json: written first, kept up to date, and sealed by a checksum of its own.

A checkpoint holds a copy of it under its manifest. So what a run is can be told from either, and a changed byte in
either is noticed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pippin._version import __version__
from pippin.errors import PippinError
from pippin.machine.machine import Machine
from pippin.plain_files import read_json
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.records import from_json, to_json
from pippin.runs.data_card import DataCard

#: Number of the record's format. Others are refused.
FORMAT = 2
NAME = "run.json"
_CHECKSUM = "sha256"
#: A file with any of these keys is a record of ours, however damaged.
_OURS = {"pippin", "recipe", "plan", _CHECKSUM}


@dataclass(frozen=True)
class Trained:
    """Set as soon as the trained model is in the folder: training need not be done again."""

    outcome: dict[str, Any]
    """What training left behind beside the weights."""
    files: dict[str, str]
    """The model's files: names and sha256."""
    events: int = 0
    """Bytes of events.jsonl at that time."""


@dataclass(frozen=True)
class Run:
    recipe: Recipe
    machine: Machine
    plan: Plan
    data: DataCard
    model: str
    started: str
    id: str
    """Tells this run from all others; its checkpoints carry it."""
    directory: str = ""
    """Relative paths in the recipe start here."""
    arithmetic: dict[str, str] = field(default_factory=dict)
    """What the last digits depend on: releases, threads, the processor."""
    status: str = "started"
    """started, finished, interrupted or failed."""
    pippin: str = __version__
    format: int = FORMAT
    files: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Files that Pippin wrote into the folder, with the sha256 of each content it gave; none for those that grow."""
    before: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Files of an earlier run in the folder, which stay until the new model is complete: the run may read them."""
    installing: str = ""
    """The staging folder out of which the trained model is being moved into place."""
    trained: Trained | None = None
    results: dict[str, Any] = field(default_factory=dict)
    fingerprint: str = ""
    """Of the training and validation rows."""
    resumed: tuple[str, ...] = ()
    """When and from which step the run went on."""

    def __repr__(self) -> str:
        return f"Run({self.data.name!r}, {self.status}, {self.data.kind}, {self.model})"

    @property
    def trains(self) -> bool:
        return self.recipe.wants_training

    @property
    def is_finished(self) -> bool:
        return self.status == "finished"


def now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def record_text(run: Run) -> str:
    data = to_json(run)
    return json.dumps({**data, _CHECKSUM: _checksum(data)}, indent=2, ensure_ascii=False) + "\n"


def read_record(folder: Path) -> Run | None:
    """The record of a folder that Pippin wrote, and None for any other. A damaged one raises."""
    path = folder / NAME
    try:
        data = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise damaged(path, error.strerror or str(error)) from None
    except ValueError:
        raise damaged(path, "it is not JSON") from None
    if not isinstance(data, dict) or not _OURS & data.keys():
        return None
    checksum = data.pop(_CHECKSUM, None)
    if data.get("format") != FORMAT and checksum == _checksum(data):
        raise PippinError(
            f"{path} has format {data.get('format')}, and this Pippin reads format {FORMAT}. "
            f"Use the Pippin that wrote it ({data.get('pippin')})."
        )
    if checksum != _checksum(data):
        raise damaged(path, "its checksum does not match")
    try:
        return from_json(Run, data)
    except ValueError as error:
        raise damaged(path, str(error)) from None


def damaged(path: Path, why: str) -> PippinError:
    return PippinError(f"{path} was changed or damaged: {why}.")


def _checksum(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
