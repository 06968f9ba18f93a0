"""Checkpoints in transformers' own layout that are whole or not there, and the newest of them that can be trusted.

Only what a manifest of ours names is ever deleted: other folders and files are the user's, whatever they are called.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pippin.drop_in.transaction import recover
from pippin.files import is_own_folder, replace_text
from pippin.models.safety import header_of
from pippin.runs.checkpoints.manifest import NAME, FoundCheckpoint, drop, first_sound, problem_of, read

_WHOLE = re.compile(r"checkpoint-(\d+)")
_STATE = "trainer_state.json"
#: What the next step depends on and transformers does not save.
_OURS = "pippin_state.json"


def newest(folder: Path) -> FoundCheckpoint:
    """The newest checkpoint of which nothing is missing or damaged.

    Ours say which training wrote them, so that a shorter one counts where a longer one was before. Of transformers' own
    only the step is to be trusted. No clock is: one that is set back would turn the order round.
    """
    unfinished = recover(folder)
    candidates = _checkpoints(folder)
    all_ours = all((path / NAME).exists() for path in candidates)
    found = first_sound(
        sorted(candidates, key=_order if all_ours else _step, reverse=True),
        lambda path: problem_of(path) if (path / NAME).exists() else _foreign_problem(path),
    )
    return replace(found, passed_over=(*unfinished, *found.passed_over))


def retire(folder: Path, limit: int | None, best: str | None, newest_too: bool = False) -> list[str]:
    """Delete the oldest of ours beyond the limit, never the best one and never the newest, unless that is asked for.

    Returns the names of those beyond it that are not ours.
    """
    if not limit or limit < 0:
        return []
    ours = sorted((path for path in _checkpoints(folder) if is_own_folder(path) and read(path)), key=_order)
    kept = {Path(best).name} if best else set()
    if not newest_too:
        kept |= {path.name for path in ours[-1:]}
    surplus = len(ours) - max(limit, len(kept))
    for path in [path for path in ours if path.name not in kept][: max(surplus, 0)]:
        drop(path)
    left = _checkpoints(folder)
    return sorted(path.name for path in left if not (path / NAME).exists()) if len(left) > limit else []


def strangers(folder: Path) -> dict[str, frozenset[str]]:
    """By checkpoint, the files that no manifest names: what is there before a training begins is the user's."""
    found = {}
    for path in _folders(folder):
        manifest = read(path)
        files = {file.relative_to(path).as_posix() for file in path.rglob("*") if not file.is_dir()}
        found[path.name] = frozenset(files - {NAME, *manifest.files} if manifest else files)
    return found


def next_run(folder: Path) -> int:
    """The number of the training that is about to write here, above those of all that did."""
    return 1 + max((_run(path) for path in _checkpoints(folder)), default=0)


def write_state(path: Path, state: Mapping[str, Any]) -> None:
    replace_text(path / _OURS, json.dumps(state) + "\n")


def read_state(path: Path) -> dict[str, Any]:
    """What ``write_state`` wrote; nothing where a checkpoint is not ours."""
    with suppress(OSError, ValueError):
        state = json.loads((path / _OURS).read_text(encoding="utf-8"))
        if isinstance(state, dict):
            return state
    return {}


def _checkpoints(folder: Path) -> list[Path]:
    """Folders that are one, or were meant to be; not those where only somebody's notes are left."""
    signs = (NAME, _STATE, "*.safetensors", "*.bin")
    return [path for path in _folders(folder) if any(True for sign in signs for _ in path.glob(sign))]


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [path for path in folder.iterdir() if _WHOLE.fullmatch(path.name) and path.is_dir()]


def _order(path: Path) -> tuple[int, int]:
    return _run(path), _step(path)


def _run(path: Path) -> int:
    number = read_state(path).get("run")
    return number if isinstance(number, int) else 0


def _step(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def _foreign_problem(path: Path) -> str | None:
    """What shows that a checkpoint of transformers' own is not whole: it writes no list of what there must be."""
    try:
        json.loads((path / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"its {_STATE} is missing or damaged"
    for weights in path.glob("*.safetensors"):
        if header_of(weights) is None:
            return f"{weights.name} is cut off"
    for pickled in [*path.glob("*.pt"), *path.glob("*.pth")]:
        if not zipfile.is_zipfile(pickled):  # as torch writes them, with the table of contents at the end
            return f"{pickled.name} is cut off"
    return None
