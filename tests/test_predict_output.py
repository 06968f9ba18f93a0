"""What `pippin predict` writes, and that nothing of the user's is ever lost."""

from __future__ import annotations

import csv
import errno
import json
import os
from pathlib import Path

import pytest

from helpers import labels_of, make_rows, staged
from pippin.errors import PippinError


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_file_keeps_its_columns_and_order(run_cli, trained, write_rows, suffix):
    rows = [{"id": n, **row} for n, row in enumerate(make_rows(40, seed=3))]
    code, _, err = run_cli("predict", trained, "--file", write_rows("new.csv", rows), "--output", f"out.{suffix}")
    assert code == 0, err
    if suffix == "csv":
        with open("out.csv", newline="") as file:
            answers = list(csv.DictReader(file))
    else:
        answers = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [int(row["id"]) for row in answers] == list(range(40))
    right = sum(row["label"] == row["predicted_label"] for row in answers)
    assert right >= 36


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_columns_of_the_input_are_never_overwritten(run_cli, trained, write_rows, suffix):
    row = {"text": "the dog", "label": "mine", "predicted_label": "too", "score": "old"}
    code, _, err = run_cli("predict", trained, "--file", write_rows("new.csv", [row]), "--output", f"out.{suffix}")
    assert code == 0, err
    if suffix == "csv":
        header, cells = csv.reader(Path("out.csv").read_text().splitlines())
    else:
        header, cells = zip(*json.loads(Path("out.jsonl").read_text()).items(), strict=True)
    assert list(header) == [*row, "predicted_label_2", "predicted_score"]
    assert list(cells[:5]) == [*row.values(), "animal"]


def test_scores_of_all_classes(run_cli, trained, write_rows):
    """In the columns that are free, with rows without a text left empty."""
    rows = [{"text": "the old dog", "score_food": "mine"}, {"text": "", "score_food": "too"}]
    path = write_rows("new.csv", rows)
    code, out, err = run_cli("predict", trained, "--file", path, "--all_scores")
    assert code == 0, err
    header, first, second = csv.reader(out.splitlines())
    assert header == ["text", "score_food", "label", "score", "score_animal", "predicted_score_food", "score_tool"]
    assert first[1:3] == ["mine", "animal"]
    assert first[3] == first[4] == max(first[4:])
    assert sum(map(float, first[4:])) == pytest.approx(1, abs=1e-5)
    assert second == ["", "too", "", "", "", "", ""]
    assert run_cli("predict", trained, "--file", path, "--all_scores", "--output", "out.jsonl")[0] == 0
    filled, empty = (json.loads(line) for line in Path("out.jsonl").read_text().splitlines())
    assert list(filled) == header
    assert filled["score_animal"] == filled["score"] == pytest.approx(float(first[3]), abs=1e-6)
    assert empty == {**dict.fromkeys(header), "text": "", "score_food": "too"}


def test_the_likeliest_classes(run_cli, trained):
    code, out, err = run_cli("predict", trained, "--text", "the old dog", "--text", "", "--top_k", 2)
    assert code == 0, err
    header, first, second = csv.reader(out.splitlines())
    assert header == ["text", "label", "score", "label_2", "score_2"]
    assert first[1] == "animal"
    assert first[3] in ("food", "tool")
    assert float(first[2]) > float(first[4])
    assert second == [""] * 5
    words = ("predict", trained, "--text", "the old dog", "--text", "")
    assert run_cli(*words, "--top_k", 9, "--output", "out.jsonl")[0] == 0
    filled, empty = (json.loads(line) for line in Path("out.jsonl").read_text().splitlines())
    assert [each["label"] for each in filled["top"]][:2] == [first[1], first[3]]
    assert len(filled["top"]) == 3
    assert filled["top"][0] == {"label": filled["label"], "score": filled["score"]}
    assert empty == {"text": "", "label": None, "score": None, "top": None}


def refuse_to_load(*_: object, **__: object) -> None:
    raise AssertionError("the model was loaded")


def test_output_is_opened_before_the_work(run_cli, trained, monkeypatch):
    Path("folder.csv").mkdir()
    Path("there.csv").write_text("mine")
    Path("dangling.csv").symlink_to("nowhere.csv")
    monkeypatch.setattr("pippin.commands.predictor.Predictor.load", refuse_to_load)
    for name, message in [
        ("folder.csv", "is a folder"),
        ("there.csv", "is there already. Name another file, or add --overwrite"),
        ("dangling.csv", "is there already"),
    ]:
        code, _, err = run_cli("predict", trained, "--text", "x", "--output", name)
        assert code == 2
        assert message in err
    monkeypatch.setattr("os.open", refuse_to_open)
    code, _, err = run_cli("predict", trained, "--text", "x", "--output", "out.csv")
    assert code == 2
    assert "--output out.csv cannot be written: No space" in err


def refuse_to_open(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_output_replaces_a_file_only_when_asked(run_cli, trained):
    Path("precious.csv").write_text("mine")
    Path("out.csv").symlink_to("precious.csv")
    assert run_cli("predict", trained, "--text", "the soup", "--output", "out.csv", "--overwrite")[0] == 0
    assert Path("precious.csv").read_text() == "mine", "not through a link"
    assert labels_of(Path("out.csv").read_text()) == ["food"]


def test_output_is_never_the_input(run_cli, trained):
    Path("in.csv").write_text("text\nthe soup\n")
    Path("same.csv").hardlink_to("in.csv")
    Path("link.csv").symlink_to("in.csv")
    for name in ("in.csv", "same.csv", "link.csv"):
        code, _, err = run_cli("predict", trained, "--file", "in.csv", "--output", name, "--overwrite")
        assert code == 2
        assert "is the file that is read" in err
    with open("in.csv") as typed:
        kept = os.dup(0)
        os.dup2(typed.fileno(), 0)
        try:
            code, _, err = run_cli("predict", trained, "--output", "in.csv", "--overwrite")
        finally:
            os.dup2(kept, 0)
            os.close(kept)
    assert code == 2
    assert "is the file that is read" in err
    assert Path("in.csv").read_text() == "text\nthe soup\n"


def test_two_at_once_never_mix_their_rows(run_cli, trained, monkeypatch):
    """The second begins while the first is at work, and is done before it."""
    from pippin.commands.predictor import Predictor

    answers, inner = Predictor.answers, []

    def second(self, *arguments):
        if not inner:
            inner.append(None)
            inner[0] = run_cli("predict", trained, "--text", "the wolf", "--output", "out.csv")
        return answers(self, *arguments)

    monkeypatch.setattr(Predictor, "answers", second)
    code, _, err = run_cli("predict", trained, "--text", "the soup", "--output", "out.csv")
    assert (code, inner[0][0]) == (0, 0)
    assert "written to out-2.csv" in err
    assert labels_of(Path("out.csv").read_text()) == ["animal"]
    assert labels_of(Path("out-2.csv").read_text()) == ["food"]
    assert not staged()


def test_a_failure_leaves_no_file(run_cli, trained, monkeypatch):
    before = b"as it was"
    Path("out.csv").write_bytes(before)

    def full(*_: object) -> None:
        assert staged()
        raise OSError(errno.ENOSPC, "No space left on device")

    def broken(*_: object) -> None:
        assert staged()
        raise PippinError("broken")

    for place, failure, message in [
        (
            "pippin.runs.predictions.LabelledWriter.write",
            full,
            "--output out.csv cannot be written: No space left",
        ),
        ("pippin.commands.predictor.Predictor.answers", broken, "pippin: broken"),
    ]:
        with monkeypatch.context() as patch:
            patch.setattr(place, failure)
            code, _, err = run_cli("predict", trained, "--text", "x", "--output", "out.csv", "--overwrite")
        assert code == 2
        assert message in err
        assert not staged()
        assert Path("out.csv").read_bytes() == before
