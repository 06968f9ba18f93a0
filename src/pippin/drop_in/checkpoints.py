"""Checkpoints in transformers' own layout that are whole or not there, and the newest of them that can be trusted."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pippin.files import sync
from pippin.runs.checkpoints.manifest import NAME, problem_of, seal

_WHOLE = re.compile(r"checkpoint-(\d+)")
_STATE = "trainer_state.json"
#: Where a checkpoint lies for the moment in which another takes its place.
_REPLACED = "replaced"


@dataclass(frozen=True)
class Found:
    """The newest checkpoint that verifies, and those that were passed over for it."""

    path: Path | None
    passed_over: tuple[tuple[str, str], ...]
    """Name and reason."""


@contextmanager
def staged(folder: Path, step: int) -> Iterator[Path]:
    """Gives a hidden folder in which `checkpoint-N` is to be filled; it takes its place when it is on the disk."""
    name = f"checkpoint-{step}"
    staging = folder / f".{name}.partial"
    drop_leftovers(folder)
    staging.mkdir(parents=True)
    try:
        yield staging
        if (staging / name).is_dir():  # else the script writes to a place of its own
            _take_over(folder / name, staging / name)
            seal(staging / name, step)
            _replace(staging / name, folder / name)
            sync(folder)
    finally:
        drop_leftovers(folder)


def _take_over(old: Path, new: Path) -> None:
    """Keep what a script, or somebody, has put beside the files of a checkpoint that is written anew."""
    for path in old.iterdir() if old.is_dir() else ():
        if path.name == NAME or (new / path.name).exists():
            continue
        if path.is_dir():
            shutil.copytree(path, new / path.name)
        else:
            shutil.copy2(path, new / path.name)


def _replace(new: Path, final: Path) -> None:
    """Put a folder where one of the same name may stand: a rename cannot replace one that is not empty."""
    if final.exists():
        os.rename(final, new.parent / _REPLACED)
    os.rename(new, final)


def drop_leftovers(folder: Path) -> None:
    """Remove what a save left behind, or was killed in; what it had moved away and not replaced goes back."""
    for path in folder.glob(".checkpoint-*.partial"):
        if not path.is_dir() or path.is_symlink():
            continue
        final = folder / path.name.removeprefix(".").removesuffix(".partial")
        if (path / _REPLACED).is_dir() and not final.exists():
            os.rename(path / _REPLACED, final)
        shutil.rmtree(path, ignore_errors=True)


def newest(folder: Path) -> Found:
    """The newest checkpoint of which nothing is missing or damaged.

    Ours say when they were written, so that a shorter run counts where a longer one was before. Of transformers' own
    only the step is to be trusted: a copy has other times.
    """
    drop_leftovers(folder)
    passed_over: list[tuple[str, str]] = []
    candidates = _checkpoints(folder)
    all_ours = all((path / NAME).exists() for path in candidates)
    for path in sorted(candidates, key=_written if all_ours else _step, reverse=True):
        problem = problem_of(path) if (path / NAME).exists() else _foreign_problem(path)
        if problem is None:
            return Found(path, tuple(passed_over))
        passed_over.append((path.name, problem))
    return Found(None, tuple(passed_over))


def retire(folder: Path, limit: int | None, best: str | None) -> None:
    """Delete the oldest beyond the limit, never the newest and never the best one."""
    if not limit or limit < 0:
        return
    by_age = sorted(_checkpoints(folder), key=_written)
    kept = {by_age[-1].name, Path(best).name if best else by_age[-1].name}
    surplus = len(by_age) - max(limit, len(kept))
    for path in [path for path in by_age if path.name not in kept][: max(surplus, 0)]:
        shutil.rmtree(path, ignore_errors=True)


def _checkpoints(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [path for path in folder.iterdir() if _WHOLE.fullmatch(path.name) and path.is_dir()]


def _written(path: Path) -> tuple[float, int]:
    """When a checkpoint was written, then its step. Ours say when; a copy of them has other times on its files."""
    step = _step(path)
    with suppress(OSError, ValueError, TypeError, KeyError):
        return float(json.loads((path / NAME).read_text(encoding="utf-8"))["time"]), step
    with suppress(OSError):
        return (path / _STATE).stat().st_mtime, step
    return path.stat().st_mtime, step


def _step(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def _foreign_problem(path: Path) -> str | None:
    """What shows that a checkpoint of transformers' own is not whole: it writes no list of what there must be."""
    try:
        json.loads((path / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"its {_STATE} is missing or damaged"
    for weights in path.glob("*.safetensors"):
        if not _is_whole_safetensors(weights):
            return f"{weights.name} is cut off"
    for pickled in [*path.glob("*.pt"), *path.glob("*.pth")]:
        if not _is_whole_archive(pickled):
            return f"{pickled.name} is cut off"
    return None


def _is_whole_safetensors(path: Path) -> bool:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt"):
            return True
    except (SafetensorError, OSError):
        return False


def _is_whole_archive(path: Path) -> bool:
    """torch writes zip files, whose table of contents stands at the end."""
    import zipfile

    return zipfile.is_zipfile(path)
