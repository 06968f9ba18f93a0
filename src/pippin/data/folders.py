"""A folder with one file (or several shards) per split, under the usual names."""

from __future__ import annotations

import re
from pathlib import Path

from pippin.data.kinds import KINDS, is_rows, kind_of, stem_of
from pippin.data.tables import Header, Table, join_tables, listed, read_table
from pippin.errors import PippinError

_SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "eval": "validation",
    "test": "test",
    "testing": "test",
}
_SHARD = re.compile(r"[-_.]?(\d+)(?:-of-(\d+))?(?:[-_.].*)?")


def read_split_folder(
    folder: Path, encoding: str = "utf-8", look_inside: bool = True, header: Header = None
) -> dict[str, Table]:
    """Splits by name: train, validation, test, and where a data set has two, validation_matched and its like."""
    files = _split_files(folder)
    if "train" not in files:
        # The files of a data set on the Hub often lie one level down, in data/ or under a configuration's name.
        below = [child for child in sorted(folder.iterdir()) if "train" in _split_files(child)] if look_inside else []
        if len(below) != 1:
            raise PippinError(_no_training_file(folder, [child.name for child in below]))
        files = _split_files(below[0])
    for split, paths in files.items():
        _check_parts(folder, split, paths)
    return {
        split: join_tables([read_table(path, encoding, header=header) for path in paths])
        for split, paths in files.items()
    }


def split_name(name: str) -> str | None:
    """The split that a file's or folder's name speaks of: `dev_matched` is validation_matched."""
    match = re.fullmatch(rf"([a-z]+)(_matched|_mismatched)?({_SHARD.pattern})?", name.lower())
    if not match or match[1] not in _SPLIT_NAMES:
        return None
    return _SPLIT_NAMES[match[1]] + (match[2] or "")


def _split_files(folder: Path) -> dict[str, list[Path]]:
    """`train-00000-of-00001.parquet` and `train/0000.parquet` are both train."""
    files: dict[str, list[Path]] = {}
    for path in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        split = split_name(stem_of(path) if path.parent == folder else path.parent.name)
        if split and not path.is_dir() and is_rows(path):  # what is no file is named when it is read
            files.setdefault(split, []).append(path)
    # A .txt beside other files of the split holds something about them.
    return {split: [path for path in paths if kind_of(path) != ".txt"] or paths for split, paths in files.items()}


def _check_parts(folder: Path, split: str, paths: list[Path]) -> None:
    """Stop where several files of a split are not parts of one, or where a part is missing."""
    shards = [_SHARD.fullmatch(re.sub(r"^[a-z]+(_matched|_mismatched)?", "", stem_of(path).lower())) for path in paths]
    together = len({path.parent for path in paths}) == 1 and len({kind_of(path) for path in paths}) == 1
    if len(paths) > 1 and not (together and (all(shards) or split_name(paths[0].parent.name))):
        names = " and ".join(str(path.relative_to(folder)) for path in paths[:3])
        raise PippinError(
            f"{folder}: {names} are all for {split}. Keep one; if they are parts of one, number them alike "
            "(train-1.csv, train-2.csv)."
        )
    promised = {int(shard[2]) for shard in shards if shard and shard[2]}
    if promised and promised != {len(paths)}:
        raise PippinError(
            f"{folder}: {len(paths)} of {max(promised)} files of the {split} split are there "
            f"({listed(path.name for path in paths)}). Was the download cut short?"
        )


def _no_training_file(folder: Path, inside: list[str]) -> str:
    if inside:
        return f"{folder} holds several data sets ({listed(inside)}). Name one of them, such as {folder / inside[0]}."
    found = listed(sorted(child.name for child in folder.iterdir())) or "nothing"
    return f"{folder}: no training file. Expected train.csv (or {', '.join(KINDS[1:])}), found {found}."
