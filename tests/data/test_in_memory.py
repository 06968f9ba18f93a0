"""Rows that Python holds: every kind of them goes the way of a file, and what is none is refused in one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pippin
from helpers import make_rows
from pippin.data.in_memory import keep, of_texts
from pippin.data.tables import read_table
from pippin.errors import PippinError

pandas = pytest.importorskip("pandas")
datasets = pytest.importorskip("datasets")

ROWS = make_rows(40)
COLUMNS = {name: [row[name] for row in ROWS] for name in ("text", "label")}
FRAME = pandas.DataFrame(ROWS)
CLASSES = ("tool", "animal", "food", "plant")


def dataset() -> object:
    rows = datasets.Dataset.from_dict(COLUMNS)
    return rows.cast(datasets.Features(text=datasets.Value("string"), label=datasets.ClassLabel(names=CLASSES)))


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (FRAME, "dataframe"),
        (FRAME.set_index(FRAME.index[::-1] * 3), "dataframe"),
        (FRAME.astype("category"), "dataframe"),
        (ROWS, "rows"),
        (iter(ROWS), "list_iterator"),
        (COLUMNS, "rows"),
        ({name: FRAME[name] for name in COLUMNS}, "rows"),
        (of_texts(FRAME["text"], FRAME["label"].to_numpy()), "rows"),
        (datasets.Dataset.from_list(ROWS), "dataset"),
    ],
)
def test_every_kind_of_rows_becomes_a_file(data, name):
    kept = keep(data)
    assert kept.path.name in (f"{name}.parquet", "rows.parquet")
    assert kept.notes == ()
    assert read_table(kept.path).columns == COLUMNS


def test_the_same_rows_are_kept_once():
    first, again, others = keep(ROWS), keep(list(ROWS)), keep(ROWS[1:])
    assert first.path == again.path != others.path
    first.path.write_bytes(b"damaged")
    assert read_table(keep(ROWS).path).columns == COLUMNS
    assert not [path for path in first.path.parents[1].iterdir() if path.name.startswith(".")]


def test_rows_that_were_not_used_for_long_go():
    old, yesterday, new = (keep(ROWS[place:]).path.parent for place in range(3))
    month = time.time() - 31 * 86400
    os.utime(old, (month, month))
    os.utime(yesterday, (time.time() - 2 * 86400,) * 2)
    os.utime(new, (month, month))
    keep(ROWS[2:])  # used again
    keep(ROWS[3:])
    assert [path.is_dir() for path in (old, yesterday, new)] == [False, True, True]


def test_without_a_cache_they_are_kept_for_a_while(monkeypatch, tmp_path):
    monkeypatch.setenv("PIPPIN_CACHE", "off")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept = keep(ROWS)
    assert kept.path.is_relative_to(tmp_path)
    assert kept.notes == (f"PIPPIN_CACHE is off: the rows are kept in {kept.path.parent} until the system clears it.",)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PIPPIN_CACHE", str(tmp_path / "file"))
    assert "file cannot be written" in keep(ROWS).notes[0]


def test_classes_of_a_dataset_keep_their_names_and_order():
    table = read_table(keep(dataset().shuffle(seed=1).select(range(20))).path)
    assert table.class_names == {"label": CLASSES}
    assert len(table) == 20
    assert table.origin == "the Dataset"


def test_splits_of_a_dict():
    splits = datasets.DatasetDict(train=dataset(), dev=dataset(), test=dataset(), unsupervised=dataset())
    kept = keep(splits)
    assert sorted(path.stem for path in kept.path.iterdir()) == ["test", "train", "validation"]
    assert kept.notes == ("not used: the split unsupervised.",)
    assert sorted(path.stem for path in keep({"train": FRAME, "test": FRAME}).path.iterdir()) == ["test", "train"]
    with pytest.raises(PippinError, match="the DatasetDict has no split named train, only: test"):
        keep(datasets.DatasetDict(test=dataset()))
    with pytest.raises(PippinError, match="validation is a DatasetDict of train, dev, test, unsupervised: give one"):
        keep(splits, "validation")


def test_cells_of_several_kinds():
    """Numbers among words are words; what is empty in any of pandas' ways is empty."""
    cells = ["a", 1, 2.5, True, None, float("nan"), pandas.NA, pandas.NaT, 2**70]
    words = ["a", "1", "2.5", "True", None, None, None, None, str(2**70)]
    assert read_table(keep({"x": cells}).path).columns["x"] == words
    frame = pandas.DataFrame({"x": pandas.Series(cells, dtype=object), 7: [1.0, None, *range(7)]})
    found = read_table(keep(frame).path).columns
    assert found["x"] == words
    assert found["7"] == [1.0, None, *map(float, range(7))]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (FRAME.head(0), "the DataFrame has no rows"),
        (pandas.DataFrame(), "the DataFrame has no columns"),
        (FRAME["text"], r"the Series is one column.*texts=df\['text'\], labels=df\['label'\]"),
        (pandas.concat([FRAME, FRAME], axis=1), "the DataFrame has two columns named label, text"),
        ([], "the list has no rows"),
        ({}, "the dict has no columns"),
        (datasets.Dataset.from_dict({"text": [], "label": []}), "the Dataset has no rows"),
        (["one", "two"], r"the list holds texts without labels. .*texts=\[…\], labels=\[…\]"),
        ([("one", 1)], r"row 1 of the list is \('one', 1\), not a dict"),
        ([{"text": "a"}, 5], "row 2 of the list is 5, not a dict"),
        ({"text": ["a"], "label": [1, 2]}, "the columns have different lengths: text 1, label 2"),
        ({"text": "a", "label": "b"}, "the column 'text' is 'a': give a list for each column"),
        (5, "5 is not a kind of rows that Pippin reads"),
        (dataset().to_iterable_dataset(), "an IterableDataset is streamed"),
        ([{"text": "a"}, {"text": ["b"]}], r"the list, row 2, column 'text' holds \['b'\], beside cells of other"),
        ([{"text": "a\ud800"}], "the list, row 1, column 'text' holds half of a character"),
    ],
)
def test_what_is_none_is_refused(data, message):
    with pytest.raises(PippinError, match=message):
        keep(data)


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        (["a"], None, "labels is missing"),
        (None, ["a"], "texts is missing"),
        (["a"], ["b", "c"], "texts has 1 entries but labels has 2"),
        ("a", ["b"], "texts is 'a': give a list"),
        (["a"], 5, "labels is 5: give a list"),
        (["a", ("b", "c")], [1, 2], r"texts\[0\] is 'a', not a pair"),
        ([("a", "b"), ("b", "c", "d")], [1, 2], r"texts\[1\] is \('b', 'c', 'd'\), not a pair"),
    ],
)
def test_texts_and_labels_that_do_not_fit(texts, labels, message):
    with pytest.raises(PippinError, match=message):
        of_texts(texts, labels)


@pytest.fixture
def quick(tiny_model):
    return {"model_name_or_path": tiny_model, "max_steps": 2, "quiet": True}


def test_training_on_rows_of_memory(quick):
    """Pairs of texts, rows to evaluate on and to predict, and the classes of a Dataset."""
    frame = FRAME.rename(columns={"text": "comment"})
    report = pippin.train(
        frame, validation=frame.assign(comment=frame["comment"] + " x"), test=frame["comment"], **quick
    )
    assert report.folder == "runs/dataframe"
    assert report.results["eval_samples"] == 40
    assert len(Path(report.folder, "predictions.csv").read_text().splitlines()) == 41
    report = pippin.train(dataset().train_test_split(0.25, seed=1), **quick)
    assert report.results["test_samples"] == 10
    assert pippin.load(report.folder).classes == CLASSES
    pairs = np.array([(text, text) for text in COLUMNS["text"]])
    report = pippin.train(texts=pairs, labels=COLUMNS["label"], test=pairs[:3].tolist(), **quick)
    assert report.text_columns == ("text", "text_pair")
    assert "accuracy" in repr(report)


def test_a_missing_text_is_refused_or_left_out(quick, capsys):
    frame = FRAME.assign(text=FRAME["text"].where(FRAME.index != 3))
    with pytest.raises(PippinError, match="the DataFrame, row 4: column 'text' is empty.* skip_bad_rows=True to leave"):
        pippin.train(frame, **quick)
    with pytest.raises(PippinError, match="texts and labels, row 4: column 'label' is empty"):
        pippin.train(texts=FRAME["text"], labels=FRAME["label"].where(FRAME.index != 3), **quick)
    pippin.train(frame, **{**quick, "quiet": False}, skip_bad_rows=True)
    assert "the DataFrame: 1 of 40 rows left out, the first being row 4" in capsys.readouterr().out


def test_a_run_on_rows_of_memory_is_resumed(run_cli, tiny_model, interrupt):
    """By the command line, when the process that held the rows is gone; and by the same rows in Python."""
    settings = {"model_name_or_path": tiny_model, "num_train_epochs": 3, "per_device_train_batch_size": 4,
                "logging_steps": 3, "quiet": True, "output_dir": "run"}  # fmt: skip
    interrupt(6)
    with pytest.raises(KeyboardInterrupt, match="stopped after step 6"):
        pippin.train(FRAME, **settings)
    code, out, err = run_cli("resume", "run")
    assert code == 0, err
    assert "step-6" in out
    interrupt(6)
    with pytest.raises(KeyboardInterrupt):
        pippin.train(FRAME, **{**settings, "output_dir": "other"})
    report = pippin.train(FRAME.copy(), **{**settings, "output_dir": "other"}, resume=True)
    assert report.results["eval_loss"] == pippin.load("run").report.results["eval_loss"]


def test_neither_pandas_nor_datasets_is_needed(tmp_path):
    script = """
import sys

class NotInstalled:
    def find_spec(self, name, *_):
        if name.split(".")[0] in ("pandas", "datasets"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
import pippin
assert "torch" not in sys.modules
from pippin.data.in_memory import keep
from pippin.data.tables import read_table
assert read_table(keep([{"text": "a", "label": float("nan")}]).path).columns == {"text": ["a"], "label": [None]}
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)
