"""What a checkpoint must hold, byte for byte: names, sizes and sha256, written last."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pippin._version import __version__
from pippin.files import is_own_folder, is_plain_file, sync
from pippin.plain_files import read_json

NAME = "manifest.json"
#: Number of a checkpoint's format. Others are refused.
FORMAT = 2


@dataclass(frozen=True)
class Manifest:
    step: int
    files: dict[str, tuple[int, str]]
    """By name: bytes and sha256."""
    run: str = ""
    """The id of the run that wrote it."""
    format: int = FORMAT


@dataclass(frozen=True)
class FoundCheckpoint:
    """The newest checkpoint that verifies, and those that were passed over for it."""

    path: Path | None
    passed_over: tuple[tuple[str, str], ...]
    """Name and reason."""

    @property
    def step(self) -> int:
        return int(self.path.name.rpartition("-")[2]) if self.path else 0


def seal(folder: Path, step: int, run: str = "", leave_out: Collection[str] = ()) -> None:
    """Bring every file to the disk, then write down what each holds; not of those that are left out."""
    paths = [path for path in sorted(folder.rglob("*")) if path.relative_to(folder).as_posix() not in leave_out]
    named = [path for path in paths if path.is_file()]
    with ThreadPoolExecutor() as pool:  # digests of several files at a time: the lock of Python is not held for them
        digests = pool.map(sha256, named)
        for path in paths:
            sync(path)
        files = {
            path.relative_to(folder).as_posix(): {"bytes": path.stat().st_size, "sha256": digest}
            for path, digest in zip(named, digests, strict=True)
        }
    facts = {"pippin": __version__, "format": FORMAT, "step": step, "run": run, "time": time.time(), "files": files}
    text = json.dumps(facts, indent=2)
    (folder / NAME).write_text(text + "\n", encoding="utf-8")
    sync(folder / NAME)
    sync(folder)


def read(folder: Path) -> Manifest | None:
    """The manifest of a checkpoint of ours; None where there is none that can be read."""
    try:
        data = read_json(folder / NAME)
        if not isinstance(data["pippin"], str):
            return None
        files = {str(name): (int(fact["bytes"]), str(fact["sha256"])) for name, fact in data["files"].items()}
        if not all(map(_stays_inside, files)):
            return None
        return Manifest(int(data["step"]), files, str(data["run"]), int(data["format"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        return None


def _stays_inside(name: str) -> bool:
    """Whether a file's name leads nowhere but into the checkpoint itself."""
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in name


def problem_of(folder: Path) -> str | None:
    """Why a checkpoint cannot be trusted; None where every byte is as it was written."""
    manifest = read(folder)
    if manifest is None:
        return f"its {NAME} is missing or damaged"
    if manifest.format != FORMAT:
        return f"it has format {manifest.format}, and this Pippin reads format {FORMAT}"
    for name, (size, digest) in manifest.files.items():
        path = folder / name
        if not is_plain_file(path):
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size} bytes instead of {size}"
        if sha256(path) != digest:
            return f"{name} was changed or damaged"
    return None


def first_sound(newest_first: Iterable[Path], problem_of: Callable[[Path], str | None]) -> FoundCheckpoint:
    passed_over: list[tuple[str, str]] = []
    for path in newest_first:
        problem = problem_of(path)
        if problem is None:
            return FoundCheckpoint(path, tuple(passed_over))
        passed_over.append((path.name, problem))
    return FoundCheckpoint(None, tuple(passed_over))


def drop(folder: Path) -> None:
    """Delete the files that a checkpoint's manifest names, through no link; whatever else somebody put there stays.

    An empty folder is what a crash in here left of one.
    """
    if not is_own_folder(folder):
        return
    manifest = read(folder)
    # The manifest goes last: after a crash in here a file is missing, and what is left can still be dropped.
    files = [folder / name for name in (*manifest.files, NAME)] if manifest else []
    inside = {file: [path for path in (file, *file.parents) if folder in path.parents] for file in files}
    for file, parts in inside.items():
        if not any(part.is_symlink() for part in parts):
            file.unlink(missing_ok=True)
    emptied = {folder, *(part for file, parts in inside.items() for part in parts if part != file)}
    for place in sorted(emptied, key=lambda place: len(place.parts), reverse=True):
        with suppress(OSError):  # not empty, a link, or gone
            place.rmdir()


def sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
