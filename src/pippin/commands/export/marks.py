"""What tells an export of ours, as we wrote it, from other files: digests, in a folder's record or a file's head."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pippin._version import __version__
from pippin.files import is_own_folder, is_plain_file
from pippin.plain_files import read_json
from pippin.runs.checkpoints.manifest import sha256

RECORD = "pippin_export.json"
#: The key in a GGUF file under which its digest stands, and what stands there while it is taken.
KEY, EMPTY = "pippin.sha256", "0" * 64
#: Bytes in which the key is found: it is one of the first.
_HEAD = 2**16
#: Between a key and its text: the number of the type, and the length.
_BETWEEN = 12


def mark(path: Path) -> None:
    """Note what was written, in the folder or the GGUF file itself."""
    if path.is_dir():
        files = {each.name: sha256(each) for each in sorted(path.iterdir())}
        record = {"pippin": __version__, "files": files}
        (path / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
        return
    digest, place = _digest_of(path), _place_of(path)
    assert place is not None
    with path.open("r+b") as file:
        file.seek(place)
        file.write(digest.encode())


def is_ours(path: Path) -> bool:
    """Whether all of it is as it was marked."""
    try:
        return _is_our_folder(path) if is_own_folder(path) else is_plain_file(path) and _is_our_file(path)
    except (OSError, ValueError):
        return False


def _is_our_folder(path: Path) -> bool:
    record = read_json(path / RECORD)
    files = record.get("files") if isinstance(record, dict) else None
    found = {each.name: each for each in path.iterdir() if each.name != RECORD}
    if not isinstance(files, dict) or files.keys() != found.keys():
        return False
    return all(is_plain_file(each) and sha256(each) == files[name] for name, each in found.items())


def _is_our_file(path: Path) -> bool:
    place = _place_of(path)
    if place is None:
        return False
    with path.open("rb") as file:
        file.seek(place)
        noted = file.read(len(EMPTY))
    return noted == _digest_of(path).encode()


def _digest_of(path: Path) -> str:
    """Of all the file, with the digest's own place left empty."""
    place, digest = _place_of(path), hashlib.sha256()
    if place is None:
        return ""
    with path.open("rb") as file:
        digest.update(file.read(place) + EMPTY.encode())
        file.seek(len(EMPTY), 1)
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def _place_of(path: Path) -> int | None:
    """Where the digest stands in a GGUF file; None in any other file."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    found = head.find(KEY.encode())
    return found + len(KEY) + _BETWEEN if head.startswith(b"GGUF") and found > 0 else None
