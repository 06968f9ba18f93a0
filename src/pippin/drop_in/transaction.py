"""One checkpoint on its way to the disk: it is whole and sealed, or it is not there.

Usually it is filled in a hidden folder and renamed. Where a script has saving hooks of its own, which are to see the
place that transformers would name, it is filled where it will stand, and the hidden folder only marks that this is
under way: what a kill leaves behind then gets another name, and what stood there before comes back.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Collection
from pathlib import Path

from pippin.drop_in.notices import say
from pippin.files import free_name, is_own_folder, sync
from pippin.runs.checkpoints.manifest import NAME, problem_of, read, seal

#: In the hidden folder: what stood in the place of the new checkpoint, and the mark that this one is filled in place.
_REPLACED, _IN_PLACE = "replaced", "in_place"
_HIDDEN = re.compile(r"\.(checkpoint-\d+)-[0-9a-f]{16}\.partial")


class Transaction:
    """Begins when it is made; must be ended by `commit` or `abandon`."""

    def __init__(self, folder: Path, step: int, in_place: bool = False):
        self.folder, self.step, self.in_place = folder, step, in_place
        self.final = folder / f"checkpoint-{step}"
        self.hidden = folder / f".checkpoint-{step}-{secrets.token_hex(8)}.partial"
        recover(folder)
        self.hidden.mkdir(parents=True)
        if os.path.lexists(self.final) and not is_own_folder(self.final):
            aside = free_name(self.final.with_name(f"{self.final.name}.moved"), is_folder=True)
            os.rename(self.final, aside)
            say(f"{self.final} was not a plain folder: renamed to {aside.name}, to make way for the checkpoint.")
        if in_place:
            (self.hidden / _IN_PLACE).touch()
            if read(self.final) is not None:
                os.rename(self.final, self.hidden / _REPLACED)
        self._there = {self.final, *self.final.rglob("*")} if self.final.exists() else set()
        self._before = signature(self.final)

    @property
    def root(self) -> Path:
        """The folder in which `checkpoint-N` is to be filled."""
        return self.folder if self.in_place else self.hidden

    @property
    def filled(self) -> Path:
        return self.root / self.final.name

    def commit(self, strangers: Collection[str] = ()) -> None:
        """Seal the checkpoint and put it into its place, where there is one: a script may write elsewhere.

        ``strangers`` are the user's files where it will stand: they stay, and the manifest does not name them.
        """
        if self.filled.is_dir():
            now = signature(self.filled)
            theirs = [name for name in strangers if self.in_place and now.get(name) == self._before.get(name)]
            seal(self.filled, self.step, leave_out=[NAME, *theirs])
            _take_over(self.hidden / _REPLACED if self.in_place else self.final, self.filled)
            if not self.in_place:
                if self.final.exists():  # a rename cannot replace a folder that is not empty
                    os.rename(self.final, self.hidden / _REPLACED)
                os.rename(self.filled, self.final)
            sync(self.folder)
        _bring_back(self.hidden, self.final)

    def abandon(self) -> None:
        """Leave nothing of it, and everything else as it was."""
        if self.in_place:
            for path in sorted(set(self.final.rglob("*")) - self._there, reverse=True):
                path.rmdir() if is_own_folder(path) else path.unlink()
            if self.final not in self._there and self.final.is_dir():
                self.final.rmdir()
        _bring_back(self.hidden, self.final)


def recover(folder: Path) -> list[tuple[str, str]]:
    """Clear up after a save that was killed; name and reason of what is not whole, and stands elsewhere now."""
    found = []
    for hidden, final in _hidden(folder):
        if (hidden / _IN_PLACE).exists() and final.exists() and problem_of(final) is not None:
            aside = free_name(final.with_name(f"{final.name}.unfinished"), is_folder=True)
            os.rename(final, aside)
            found.append((final.name, f"it was not saved completely, and is now {aside.name}"))
        _bring_back(hidden, final)
    return found


def is_unfinished(path: Path) -> bool:
    """Whether a checkpoint is being filled where it stands, or was when the process was killed."""
    under_way = any(final == path and (hidden / _IN_PLACE).exists() for hidden, final in _hidden(path.parent))
    return under_way and problem_of(path) is not None


def signature(path: Path) -> dict[str, tuple[int, int, int]]:
    """What tells without reading them whether a checkpoint's files were changed since."""
    facts = {file.relative_to(path).as_posix(): file.lstat() for file in path.rglob("*") if not file.is_dir()}
    return {name: (fact.st_size, fact.st_mtime_ns, fact.st_ino) for name, fact in facts.items() if name != NAME}


def reseal(path: Path, step: int, strangers: Collection[str], before: dict[str, tuple[int, int, int]]) -> None:
    """Write a manifest anew where a script's own code has changed its checkpoint since, or put something into it."""
    manifest, now = read(path), signature(path)
    if manifest is None:
        return
    theirs = set(strangers) - set(manifest.files)
    if now != before or set(now) - theirs != set(manifest.files):
        seal(path, step, leave_out={NAME, *theirs})


def _hidden(folder: Path) -> list[tuple[Path, Path]]:
    """Hidden folders of saves, and the checkpoint that each is for. Nobody else gives such names."""
    named = [(path, _HIDDEN.fullmatch(path.name)) for path in folder.glob(".checkpoint-*.partial")]
    return [(path, folder / name[1]) for path, name in named if name and is_own_folder(path)]


def _bring_back(hidden: Path, final: Path) -> None:
    if (hidden / _REPLACED).exists() and not final.exists():
        os.rename(hidden / _REPLACED, final)
    shutil.rmtree(hidden, ignore_errors=True)


def _take_over(old: Path, new: Path) -> None:
    """Keep what a script, or somebody, has put beside the files of a checkpoint that is written anew."""
    manifest = read(old)
    named = {NAME, *(manifest.files if manifest else ())}
    for path in sorted(old.rglob("*")) if old.is_dir() else ():
        name = path.relative_to(old)
        if is_own_folder(path) or name.as_posix() in named or os.path.lexists(new / name):
            continue
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, new / name, follow_symlinks=False)
        if not path.is_symlink():
            sync(new / name)
