"""GLUE's own files: the folder layout and the columns of each task as its publishers ship them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pippin.data.tables import Table, decode
from pippin.data.tasks import Task
from pippin.errors import PippinError


@dataclass(frozen=True)
class Layout:
    """One task's folder and the places of its columns. A place is a header name, or an index without header."""

    folder: str
    text: tuple[str | int, ...]
    label: str | int
    test_text: tuple[str | int, ...] = ()
    header: bool = True
    validations: tuple[tuple[str, str], ...] = (("validation", "dev"),)
    tests: tuple[tuple[str, str], ...] = (("test", "test"),)


_PAIR = ("sentence1", "sentence2")
LAYOUTS = {
    "cola": Layout("CoLA", (3,), 1, ("sentence",), header=False),
    "mnli": Layout(
        "MNLI",
        _PAIR,
        "gold_label",
        validations=(("validation_matched", "dev_matched"), ("validation_mismatched", "dev_mismatched")),
        tests=(("test_matched", "test_matched"), ("test_mismatched", "test_mismatched")),
    ),
    "mrpc": Layout("MRPC", ("#1 String", "#2 String"), "Quality"),
    "qnli": Layout("QNLI", ("question", "sentence"), "label"),
    "qqp": Layout("QQP", ("question1", "question2"), "is_duplicate"),
    "rte": Layout("RTE", _PAIR, "label"),
    "sst2": Layout("SST-2", ("sentence",), "label"),
    "stsb": Layout("STS-B", _PAIR, "score"),
    "wnli": Layout("WNLI", _PAIR, "label"),
}


def glue_folder(data_dir: Path, task: Task) -> Path | None:
    """The task's folder: data_dir itself, or the one in it that bears the task's name."""
    layout = LAYOUTS[str(task.name)]
    inside = [child for child in data_dir.iterdir() if child.is_dir() and _plain(child.name) == _plain(layout.folder)]
    return next((folder for folder in [*inside, data_dir] if (folder / "train.tsv").is_file()), None)


def read_glue_split(folder: Path, task: Task, name: str, required: bool = True) -> Table | None:
    """One split (`train`, `dev_matched`, `test` …) with the task's own column names; None if it isn't there."""
    path, layout = folder / f"{name}.tsv", LAYOUTS[str(task.name)]
    if not path.is_file():
        if required:
            raise PippinError(f"{path}: there is no such file, and {task.name} needs it.")
        return None
    is_test = name.startswith("test")
    lines = [line for line in re.split(r"\r?\n", decode(path, "utf-8")) if line]
    rows = [line.split("\t") for line in lines]  # quotes are part of the text in these files
    has_header = layout.header or is_test
    header = rows[0] if has_header else []
    places = [
        _place(header, place, path) for place in (layout.test_text if is_test and layout.test_text else layout.text)
    ]
    label = None if is_test and layout.label not in header else _place(header, layout.label, path)
    wanted = [*places, *([] if label is None else [label])]
    complete = [row for row in (rows[1:] if has_header else rows) if len(row) > max(wanted)]
    # A few published lines are broken (QQP), and MNLI marks rows without agreement by a dash: Hugging Face drops both.
    body = complete if label is None else [row for row in complete if row[label] not in ("", "-")]
    dropped = len(rows) - has_header - len(body)
    notes = (f"{path}: {dropped} broken or unlabelled rows left out.",) if dropped else ()
    columns = {column: [row[place] for row in body] for column, place in zip(task.text_columns, places, strict=True)}
    if label is not None:
        columns[str(task.label_column)] = [row[label] for row in body]
    return Table(columns, str(path), notes=notes)


def _place(header: list[str], place: str | int, path: Path) -> int:
    if isinstance(place, int):
        return place
    if place not in header:
        raise PippinError(f"{path}: expected a column {place!r} in its first line, found {', '.join(header)}.")
    return header.index(place)


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
