"""The checkpoints of one run on disk: written whole, found again when they verify, removed when newer ones stand."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from pippin.disk import disk_words, free_bytes, trouble
from pippin.errors import PippinError
from pippin.files import free_name, is_own_folder, is_staging, remove_leftovers, staging_folder, sync
from pippin.runs.checkpoints.manifest import FoundCheckpoint, drop, first_sound, problem_of, read, seal

_WHOLE = re.compile(r"step-(\d+)")


class Store:
    """The checkpoints of one run in a folder. Only what their manifests name is ever deleted, and no link is followed.

    But for the folder itself: somebody may keep it on another disk. Then it must hold a checkpoint of this very run,
    else it may lead anywhere.
    """

    def __init__(self, folder: Path, run: str, keep: int = 1):
        self.folder, self.run, self.keep = folder, run, keep

    def save(self, step: int, write: Callable[[Path], None], needed: int, best_step: int | None = None) -> Path:
        """Let ``write`` fill a checkpoint, verify that there is room first, and drop older ones after."""
        final = self.path(step)
        self.check_place()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.drop_leftovers()
        if free_bytes(self.folder) < needed:
            raise PippinError(trouble(final, "there is not enough room", needed))
        with disk_words(final, needed):
            partial = staging_folder(self.folder, final.name)
            try:
                write(partial)
                seal(partial, step, self.run)
                self._make_way(final)
                os.rename(partial, final)
                sync(self.folder)
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise
        self._retire(step, best_step)
        return final

    def _make_way(self, final: Path) -> None:
        """Drop what stands where a checkpoint belongs; what cannot be told to be this run's is moved aside."""
        if os.path.lexists(final) and self._is_ours(final):
            drop(final)
        if os.path.lexists(final):
            os.rename(final, free_name(final.with_name(f"{final.name}.aside"), is_folder=True))

    def check_place(self) -> None:
        """Refuse a folder that is a link, unless it leads to checkpoints of this run."""
        manifests = map(read, self._folders().values()) if self.folder.is_symlink() else ()
        if self.folder.is_symlink() and not any(found and found.run == self.run for found in manifests):
            raise PippinError(
                f"{self.folder} is a link to {os.readlink(self.folder)}, where this run has no checkpoint. Pippin "
                "does not write through such a link: replace it with a folder."
            )

    def newest(self) -> FoundCheckpoint:
        """The newest checkpoint of which every byte is as it was written."""
        steps = {self.path(step): step for step in sorted(self._folders(), reverse=True)}
        return first_sound(steps, lambda path: self.problem_of(steps[path]))

    def problem_of(self, step: int) -> str | None:
        """Why a checkpoint cannot be used; None where it can."""
        manifest = read(self.path(step))
        if manifest is not None and manifest.run != self.run:
            return "it belongs to another run"
        if manifest is not None and manifest.step != step:
            return f"it is the checkpoint of step {manifest.step}"
        return problem_of(self.path(step))

    def steps(self) -> list[int]:
        return sorted(step for step, path in self._folders().items() if self._is_ours(path))

    def bytes(self) -> int:
        """What they take on the disk, leftovers of killed saves included."""
        homes = [self.path(step) for step in self.steps()]
        if self.folder.is_dir():
            homes += [path for path in self.folder.iterdir() if is_staging(path.name)]
        return sum(file.lstat().st_size for home in homes for file in home.rglob("*"))

    def _folders(self) -> dict[int, Path]:
        """All folders that look like checkpoints, by step."""
        if not self.folder.is_dir():
            return {}
        found = {path: _WHOLE.fullmatch(path.name) for path in self.folder.iterdir() if is_own_folder(path)}
        return {int(match[1]): path for path, match in found.items() if match}

    def _is_ours(self, path: Path) -> bool:
        """Whether a folder is a checkpoint of this run, or what is left of one that was being deleted."""
        manifest = read(path)
        return manifest.run == self.run if manifest else is_own_folder(path) and not any(path.iterdir())

    def drop_all(self) -> None:
        for step in self.steps():
            drop(self.path(step))
        if is_own_folder(self.folder):
            self.drop_leftovers()
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    def drop_leftovers(self) -> None:
        """Remove what a save that was killed left behind."""
        if self.folder.is_dir():
            remove_leftovers(self.folder)

    def path(self, step: int) -> Path:
        return self.folder / f"step-{step}"

    def _retire(self, step: int, best_step: int | None) -> None:
        """Drop the oldest beyond the limit, never the best one and never the one just written."""
        older = [other for other in self.steps() if other not in (step, best_step)]
        for other in older[: len(older) - (self.keep - 1)] if len(older) >= self.keep else []:
            drop(self.path(other))
