"""Where an export goes: made in a folder of its own, renamed when it is proved, never in the place of other files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pippin.commands.export.marks import is_ours, mark
from pippin.disk import disk_words, free_bytes, trouble
from pippin.errors import PippinError
from pippin.files import staging_folder, staging_path, sync, usual_mode

_AGAIN = "export again"


def check_target(path: Path, overwrite: bool, needed: int, inputs: Iterable[Path]) -> None:
    """Refuse what cannot be written, before any work is done. ``inputs`` are the folders that are read."""
    if not path.absolute().parent.is_dir():
        raise PippinError(f"--output {path}: there is no folder {path.parent}.")
    if path.resolve() in {each.resolve() for each in inputs}:
        raise PippinError(f"{path} holds the model that is read. Name another with --output.")
    if os.path.lexists(path) and not overwrite:
        raise PippinError(f"{path} is there already. Name another with --output, or add --overwrite to replace it.")
    if os.path.lexists(path) and not is_ours(path):
        raise PippinError(
            f"{path} was not exported by Pippin, or was changed since, so it is not replaced. Name another with "
            "--output, or remove it."
        )
    if free_bytes(path) < needed:
        raise PippinError(trouble(path, "there is too little room", needed, _AGAIN))


@contextmanager
def staged(path: Path, needed: int) -> Iterator[Path]:
    """A path of the same name, which takes the place of ``path`` when the block ends well, else is gone."""
    folder = staging_folder(path.absolute().parent, "export")
    try:
        with disk_words(path, needed, _AGAIN):
            yield folder / path.name
            _finish(folder / path.name)
            _put(folder / path.name, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _finish(path: Path) -> None:
    mark(path)
    for each in sorted(path.iterdir()) if path.is_dir() else [path]:
        os.chmod(each, usual_mode())  # safetensors makes files that only the owner may read
        sync(each)


def _put(path: Path, final: Path) -> None:
    """A rename; a folder of ours that is there is moved aside, and back where that fails."""
    aside = staging_path(path.parent, "before")
    if os.path.lexists(final) and path.is_dir():
        os.rename(final, aside)
    try:
        os.replace(path, final)
    except OSError:
        if aside.exists():
            os.rename(aside, final)
        raise
    sync(final.absolute().parent)
