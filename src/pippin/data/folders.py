"""A folder with one file (or several shards) per split, under the usual names."""

from __future__ import annotations

import re
from pathlib import Path

from pippin.data.tables import SUFFIXES, Table, join_tables, read_table
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


def read_split_folder(folder: Path, encoding: str = "utf-8") -> dict[str, Table]:
    """Splits by name: train, validation, test, and where a data set has two, validation_matched and its like."""
    files: dict[str, list[Path]] = {}
    for path in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        split = _split_of(path, folder)
        if split and path.is_file() and path.suffix.lower() in SUFFIXES:
            files.setdefault(split, []).append(path)
    if "train" not in files:
        found = ", ".join(sorted(child.name for child in folder.iterdir())[:8]) or "nothing"
        raise PippinError(
            f"{folder}: no training file. Expected train.csv (or .tsv, .json, .jsonl, .parquet), found {found}."
        )
    return {split: join_tables([read_table(path, encoding) for path in paths]) for split, paths in files.items()}


def _split_of(path: Path, folder: Path) -> str | None:
    """`train-00000-of-00001.parquet` and `train/0000.parquet` are train; `dev_matched.tsv` is validation_matched."""
    name = path.stem if path.parent == folder else path.parent.name
    match = re.fullmatch(r"([a-z]+)(_matched|_mismatched)?([-_.]?\d.*)?", name.lower())
    if not match or match[1] not in _SPLIT_NAMES:
        return None
    return _SPLIT_NAMES[match[1]] + (match[2] or "")
