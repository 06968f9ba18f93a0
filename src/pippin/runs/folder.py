"""A run's folder. Files appear in it whole or not at all, and only what Pippin wrote is ever replaced or deleted.

The record says which files those are and what they held. A file that it does not name, or that holds something else by
now, is the user's: it keeps its name, and a new one gets another.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from pippin.files import (
    free_name,
    is_own_folder,
    is_plain_file,
    numbered,
    remove_leftovers,
    staged_file,
    staging_folder,
    sync,
    to_bytes,
    usual_mode,
    write_text,
)
from pippin.runs.checkpoints.manifest import sha256
from pippin.runs.checkpoints.store import Store
from pippin.runs.record import NAME as RECORD
from pippin.runs.record import Run, Trained, now, record_text

EVENTS = "events.jsonl"
CHECKPOINTS = "checkpoints"
#: Files that Pippin reads again under their names. The user's own file of such a name has to make way.
_READ_AGAIN = {RECORD, EVENTS, "report.json", "trackers.json"}
#: What tells our pages, within their first bytes.
PAGE_MARK, _HEAD_BYTES = '<meta name="generator" content="Pippin">', 2048


def is_page(path: Path) -> bool:
    """Whether a file is a page that Pippin wrote, and may write anew."""
    try:
        if not is_plain_file(path):
            return False
        with path.open("rb") as file:
            return PAGE_MARK.encode() in file.read(_HEAD_BYTES)
    except OSError:
        return False


class RunFolder:
    def __init__(self, path: Path, before: Run | None = None, resumes: bool = False):
        self.path, self.before, self.resumes = path, before, resumes
        """``before``: the run that the folder holds. It is taken up where the job ``resumes`` it, else replaced."""
        self.run: Run | None = None
        self.warn: Callable[[str], None] = lambda text: None

    @property
    def record(self) -> Run:
        """Of the run that is at work in the folder."""
        assert self.run is not None
        return self.run

    @property
    def events_path(self) -> Path:
        return self.path / EVENTS

    @property
    def checkpoints(self) -> Path:
        return self.path / CHECKPOINTS

    def store(self, run: str, keep: int = 1) -> Store:
        return Store(self.checkpoints, run, keep)

    def begin(self, run: Run, inputs: Collection[Path] = ()) -> None:
        """Write the record of a new run, and delete what the run before wrote. What the new run reads stays for now.

        Where this is cut short, the record still says which files are ours.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self._make_way(EVENTS)
        old = {**self.before.before, **self.before.files} if self.before else {}
        old = {name: digests for name, digests in old.items() if Path(name).name == name}
        home, own = self.path.resolve(), {RECORD: (), EVENTS: ()}
        # The model that the run starts from makes room for the new one when that is there.
        model = {name: old[name] for name in self._model_before() if name in old} if home in inputs else {}
        others = {name: digests for name, digests in old.items() if name not in model}
        if self.before:
            self.store(self.before.id).drop_all()
        self.run = replace(run, files={**others, **own}, before=model)
        self._write_record()
        for name in others.keys() - {RECORD}:
            if home / name not in inputs:  # a file of rows is the user's from here on
                self._drop(name)
        remove_leftovers(self.path)
        self.update(files=own)

    def go_on(self, run: Run, words: str) -> None:
        """Take up the record of an unfinished run; ``words`` say from where."""
        before = self.before
        assert before is not None
        resumed = (*before.resumed, f"{now()} {words}")
        self.run = replace(run, started=before.started, files=before.files, before=before.before, resumed=resumed)
        self._write_record()
        remove_leftovers(self.path)

    def recover(self) -> None:
        """Complete what a crash cut short."""
        if self.before is not None and self.before.installing:
            self.run = self.before
            self.complete_install()
            self.before = self.run

    def update(self, **changes: Any) -> None:
        self.run = replace(self.record, **changes)
        self._write_record()

    def claim(self, name: str) -> str:
        """The name under which a page will be written again and again; another one where the user has such a file."""
        name = self._name_for(name)
        if self.record.files.get(name) != ():
            self.update(files={**self.record.files, name: ()})
        return name

    def write(self, name: str, text: str) -> Path:
        """Write one file and remember that it is ours."""
        content = to_bytes(text)
        if name in _READ_AGAIN:
            self._make_way(name)
        name = self._name_for(name)
        self._remember({name: hashlib.sha256(content).hexdigest()})
        with staged_file(self.path / name, synced=True) as file:
            file.write(content)
        sync(self.path)
        return self.path / name

    def write_json(self, name: str, data: Any) -> Path:
        return self.write(name, json.dumps(data, indent=2, ensure_ascii=False) + "\n")

    def install(self, make: Callable[[Path], Any], outcome: dict[str, Any], events: int) -> None:
        """Put the trained model, which ``make`` writes into a folder, in the place of whatever model was there.

        Between its first file and its last the folder holds parts of two models, so the record says beforehand where
        all of the new one is: whoever opens the folder after a crash completes the move.
        """
        staging = staging_folder(self.path, "model")
        make(staging)
        made = sorted(staging.iterdir())
        for path in made:
            os.chmod(path, usual_mode())  # safetensors makes files that only the owner may read
            sync(path)
        sync(staging)
        files = {path.name: sha256(path) for path in made}
        self._remember(files, installing=staging.name, trained=Trained(outcome, files, events))
        self.complete_install()

    def complete_install(self) -> None:
        """Move what is left of a trained model out of its staging folder, and drop the rest of the model before."""
        assert self.record.trained is not None
        staging = self.path / self.record.installing
        if self.record.installing and is_own_folder(staging):
            for path in sorted(staging.iterdir()):
                if path.name in self.record.trained.files:
                    self._make_way(path.name)
                    os.replace(path, self.path / path.name)
            sync(self.path)
        for name in self.record.before.keys() - self.record.files.keys():
            self._drop(name)
        self.update(installing="", before={})
        remove_leftovers(self.path)

    def record_text(self) -> str:
        return record_text(self.record)

    def is_ours(self, name: str) -> bool:
        """Whether a file is one that Pippin wrote, and still as it was written."""
        run, path = self.run or self.before, self.path / name
        if run is None or not is_plain_file(path):
            return False
        if path.suffix == ".html":  # it is written anew all the time
            return is_page(path)
        known = [files[name] for files in (run.files, run.before) if name in files]
        return () in known or bool(known) and sha256(path) in {each for digests in known for each in digests}

    def _model_before(self) -> Collection[str]:
        """The files of the model that the folder holds: of the run before, or where that has none yet, of its own."""
        if self.before is None:
            return ()
        return self.before.trained.files if self.before.trained else self.before.before

    def _remember(self, digests: dict[str, str], **changes: Any) -> None:
        """Note what is about to be written, beside what stood under the same names before."""
        files = dict(self.record.files)
        for name, digest in digests.items():
            files[name] = tuple(dict.fromkeys((*files.get(name, ()), digest)))
        self.update(files=files, **changes)

    def _name_for(self, name: str) -> str:
        """The name itself, or a numbered one where the user's file has it."""
        free = next(path.name for path in numbered(self.path / name) if self._is_free(path.name))
        if free != name:
            self.warn(f"{self.path / name} was not written by Pippin, or was changed since, so it stays: see {free}.")
        return free

    def _make_way(self, name: str) -> None:
        """Move the user's own file aside where ours must have its name."""
        if not self._is_free(name):
            aside = free_name(self.path / name)
            os.rename(self.path / name, aside)
            self.warn(f"{self.path / name} was not written by Pippin, or was changed since: renamed to {aside.name}.")

    def _is_free(self, name: str) -> bool:
        return not os.path.lexists(self.path / name) or self.is_ours(name)

    def _drop(self, name: str) -> None:
        if self.is_ours(name):
            (self.path / name).unlink()
        elif os.path.lexists(self.path / name):
            self.warn(f"{self.path / name} was changed since Pippin wrote it, so it stays.")

    def _write_record(self) -> None:
        write_text(self.path / RECORD, self.record_text())
