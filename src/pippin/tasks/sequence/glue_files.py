"""GLUE's own files: the folder layout and the columns of each task as its publishers ship them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pippin.data.tables import Table, listed
from pippin.data.text_files import decode
from pippin.errors import PippinError
from pippin.tasks.sequence.task import SequenceTask


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
#: A few published lines are broken (QQP). More than these mean that the file is not the published one.
_MOST_BROKEN, _MOST_BROKEN_SHARE = 10, 0.01


def glue_folder(data_dir: Path, task: SequenceTask) -> Path | None:
    """The task's folder: data_dir itself, or the one in it that bears the task's name."""
    layout = LAYOUTS[str(task.name)]
    inside = [child for child in data_dir.iterdir() if child.is_dir() and _plain(child.name) == _plain(layout.folder)]
    folder = next((folder for folder in [*inside, data_dir] if (folder / "train.tsv").exists()), None)
    if folder:
        other = next((name for name in LAYOUTS if name != task.name and name == _plain(folder.name)), None)
        if other:
            raise PippinError(f"--data_dir {folder} is {other}'s folder, but --task_name is {task.name}. Change one.")
    return folder


def read_glue_split(folder: Path, task: SequenceTask, name: str, required: bool = True) -> Table | None:
    """One split (`train`, `dev_matched`, `test` …) with the task's own column names; None if it isn't there."""
    path, layout = folder / f"{name}.tsv", LAYOUTS[str(task.name)]
    if not path.exists():
        if required:
            raise PippinError(f"{path}: there is no such file, and {task.name} needs it.")
        return None
    is_test = name.startswith("test")
    # Quotes are part of the text in these files.
    lines = enumerate(decode(path, "utf-8").split("\n"), 1)
    rows = [(number, line.rstrip("\r").split("\t")) for number, line in lines if line.strip()]
    has_header = layout.header or is_test
    header = rows.pop(0)[1] if has_header else []
    text_places = layout.test_text if is_test and layout.test_text else layout.text
    places = {column: _place(header, place, path) for column, place in zip(task.text_columns, text_places, strict=True)}
    if not is_test or layout.label in header:
        places[str(task.label_column)] = _place(header, layout.label, path)
    kept, notes = _complete_rows(rows, places, path, drop=not is_test)
    columns = {column: [row[place] for _, row in kept] for column, place in places.items()}
    return Table(columns, str(path), notes=notes, lines=[number for number, _ in kept])


def _complete_rows(
    rows: list[tuple[int, list[str]]], places: dict[str, int], path: Path, drop: bool
) -> tuple[list[tuple[int, list[str]]], tuple[str, ...]]:
    """The rows that have every field, and what is to be said. Each row of a test file must stay: its place counts."""

    def is_whole(row: list[str]) -> bool:
        return len(row) > max(places.values()) and all(row[place].strip() for place in places.values())

    broken = [number for number, row in rows if not is_whole(row)]
    if broken and (not drop or len(broken) > max(_MOST_BROKEN, _MOST_BROKEN_SHARE * len(rows))):
        raise PippinError(
            f"{path}, line {broken[0]}: fields are missing (as in {len(broken)} of {len(rows)} rows); "
            f"{listed(places)} are needed. Download the file again."
        )
    # MNLI marks rows on which its annotators did not agree by a dash; Hugging Face drops them too.
    undecided = [number for number, row in rows if is_whole(row) and "label" in places and row[places["label"]] == "-"]
    left_out = {*broken, *undecided}
    kept = [(number, row) for number, row in rows if number not in left_out]
    if not kept:
        raise PippinError(f"{path} has no row with {listed(places)}. Download the file again.")
    said = (
        f"{path}: {len(left_out)} broken or unlabelled rows left out, the first being line {min(left_out, default=0)}."
    )
    return kept, (said,) if left_out else ()


def _place(header: list[str], place: str | int, path: Path) -> int:
    if isinstance(place, int):
        return place
    if place not in header:
        raise PippinError(f"{path}: expected a column {place!r} in its first line, found {listed(header)}.")
    return header.index(place)


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
