"""TREC's question files: one `COARSE:fine question` per line, in latin-1 as their publishers ship them."""

from __future__ import annotations

from pathlib import Path

from pippin.data.tables import Table
from pippin.data.text_files import decode
from pippin.errors import PippinError

TRAIN_FILE, TEST_FILE = "train_5500.label", "TREC_10.label"


def trec_folder(data_dir: Path) -> Path | None:
    """The folder that holds the files: data_dir itself or one directly in it."""
    candidates = [data_dir, *sorted(child for child in data_dir.iterdir() if child.is_dir())]
    return next((folder for folder in candidates if (folder / TRAIN_FILE).exists()), None)


def read_trec_file(path: Path) -> Table:
    """Columns text, coarse_label and fine_label."""
    texts, coarse, fine, lines = [], [], [], []
    for number, line in enumerate(_characters(path).split("\n"), 1):
        if not line.strip():
            continue
        label, _, question = line.strip().partition(" ")
        if ":" not in label or not question:
            raise PippinError(
                f"{path}, line {number}: expected `COARSE:fine question`, found {line[:60]!r}. Fix the line."
            )
        texts.append(question)
        coarse.append(label.partition(":")[0])
        fine.append(label)
        lines.append(number)
    return Table({"text": texts, "coarse_label": coarse, "fine_label": fine}, str(path), lines=lines)


def _characters(path: Path) -> str:
    """Some copies were saved anew as UTF-8; a byte of the original is not valid there."""
    try:
        return decode(path, "utf-8")
    except PippinError:
        return decode(path, "latin-1")
