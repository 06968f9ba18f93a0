"""Small files in the layout in which GLUE's publishers ship each task. The rows are made up."""

from __future__ import annotations

from dataclasses import dataclass, field

from data_helpers import text, write

_MNLI = "index promptID pairID genre sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse"
_MNLI_TEXTS = f"{_MNLI} sentence1 sentence2"
_STSB = "index genre filename year old_index source1 source2 sentence1 sentence2"


@dataclass(frozen=True)
class GlueTask:
    """How a task's files look: folder, columns, labels, and the split files beside train.tsv."""

    folder: str
    columns: str
    test_columns: str
    labels: tuple[str, ...]
    texts: tuple[str, ...]
    classes: tuple[str, ...]
    label_column: str = "label"
    header: bool = True
    splits: dict[str, str] = field(default_factory=lambda: {"validation": "dev", "test": "test"})
    dev_columns: str = ""


_ENTAILMENT = ("entailment", "not_entailment")
_PAIR = ("sentence1", "sentence2")
GLUE = {
    "cola": GlueTask(
        "CoLA",
        "source label mark sentence",
        "index sentence",
        ("1", "0"),
        ("sentence",),
        ("acceptable", "unacceptable"),
        header=False,
    ),
    "mnli": GlueTask(
        "MNLI",
        f"{_MNLI_TEXTS} label1 gold_label",
        _MNLI_TEXTS,
        ("neutral", "entailment", "contradiction"),
        _PAIR,
        ("neutral", "entailment", "contradiction"),
        "gold_label",
        splits={
            "validation_matched": "dev_matched",
            "validation_mismatched": "dev_mismatched",
            "test_matched": "test_matched",
            "test_mismatched": "test_mismatched",
        },
        dev_columns=f"{_MNLI_TEXTS} label1 label2 label3 label4 label5 gold_label",
    ),
    "mrpc": GlueTask(
        "MRPC",
        "Quality #1_ID #2_ID #1_String #2_String",
        "index #1_ID #2_ID #1_String #2_String",
        ("1", "0"),
        ("#1_String", "#2_String"),
        ("equivalent", "not_equivalent"),
        "Quality",
    ),
    "qnli": GlueTask(
        "QNLI",
        "index question sentence label",
        "index question sentence",
        _ENTAILMENT,
        ("question", "sentence"),
        _ENTAILMENT,
    ),
    "qqp": GlueTask(
        "QQP",
        "id qid1 qid2 question1 question2 is_duplicate",
        "id question1 question2",
        ("0", "1"),
        ("question1", "question2"),
        ("not_duplicate", "duplicate"),
        "is_duplicate",
    ),
    "rte": GlueTask(
        "RTE", "index sentence1 sentence2 label", "index sentence1 sentence2", _ENTAILMENT, _PAIR, _ENTAILMENT
    ),
    "sst2": GlueTask("SST-2", "sentence label", "index sentence", ("0", "1"), ("sentence",), ("negative", "positive")),
    "stsb": GlueTask("STS-B", f"{_STSB} score", _STSB, ("3.800", "0.000", "5.000"), _PAIR, (), "score"),
    "wnli": GlueTask(
        "WNLI",
        "index sentence1 sentence2 label",
        "index sentence1 sentence2",
        ("0", "1"),
        _PAIR,
        ("not_entailment", "entailment"),
    ),
}
ROWS = {"train": 30, "dev": 12, "test": 9}
#: Where each split's texts begin, so that no two splits share one.
START = {"train": 0, "dev": 1000, "dev_matched": 1000, "dev_mismatched": 1500, "test": 2000}


def write_glue(name: str, root: str = "glue") -> str:
    """Write all files of a task under root; returns the task's folder."""
    task = GLUE[name]
    for file in ["train", *task.splits.values()]:
        kind = file.split("_")[0]
        columns = {"train": task.columns, "dev": task.dev_columns or task.columns, "test": task.test_columns}[kind]
        names = columns.split()
        header = ["\t".join(names).replace("_ID", " ID").replace("_String", " String")]
        rows = [
            "\t".join(_cell(task, column, START.get(file, 2500), row) for column in names) for row in range(ROWS[kind])
        ]
        encoding = "utf-8-sig" if name == "mrpc" else "utf-8"
        write(
            f"{root}/{task.folder}/{file}.tsv",
            header if task.header or kind == "test" else [],
            rows,
            encoding=encoding,
        )
    return f"{root}/{task.folder}"


def _cell(task: GlueTask, column: str, start: int, row: int) -> str:
    if column == task.label_column:
        return task.labels[row % len(task.labels)]
    if column in task.texts:
        return cell_text(task.texts.index(column), start + row)
    return "" if column == "mark" else f"{column}-{row}"


def cell_text(place: int, number: int) -> str:
    """The text of a row. Quotes are text in these files, also where they are not closed."""
    return ('"' if number % 5 == 0 else "") + text(number) + (" once more" if place else "")
