"""What a checkpoint must hold, byte for byte: names, sizes and sha256, written last."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pippin._version import __version__
from pippin.files import sync

NAME = "manifest.json"
#: Raised when an older version could not read a checkpoint.
FORMAT = 1


@dataclass(frozen=True)
class Manifest:
    step: int
    files: dict[str, tuple[int, str]]
    """By name: bytes and sha256."""


def seal(folder: Path, step: int, leave_out: Collection[str] = ()) -> None:
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
    facts = {"pippin": __version__, "format": FORMAT, "step": step, "time": time.time(), "files": files}
    text = json.dumps(facts, indent=2)
    (folder / NAME).write_text(text + "\n", encoding="utf-8")
    sync(folder / NAME)
    sync(folder)


def read(folder: Path) -> Manifest | None:
    """The manifest of a checkpoint of ours; None where there is none that can be read."""
    try:
        data = json.loads((folder / NAME).read_text(encoding="utf-8"))
        if not isinstance(data["pippin"], str) or not 1 <= int(data["format"]) <= FORMAT:
            return None
        files = {str(name): (int(fact["bytes"]), str(fact["sha256"])) for name, fact in data["files"].items()}
        return Manifest(int(data["step"]), files) if all(map(_stays_inside, files)) else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
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
    for name, (size, digest) in manifest.files.items():
        path = folder / name
        if path.is_symlink() or not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size} bytes instead of {size}"
        if sha256(path) != digest:
            return f"{name} was changed or damaged"
    return None


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _digest(file)


def _digest(file) -> str:  # type: ignore[no-untyped-def]
    """Python 3.10 has no file_digest."""
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()
