"""`pippin predict`: texts, files, which columns, and what is wrong with them."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import pytest

from helpers import edit_record, labels_of


def test_texts(run_cli, trained):
    code, out, err = run_cli("predict", trained, "--text", "the old dog", "--text", 'my "new" hammer, and')
    assert code == 0, err
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["label"] for row in rows] == ["animal", "tool"]
    assert rows[1]["text"] == 'my "new" hammer, and'
    assert all(0.5 < float(row["score"]) <= 1 for row in rows)


@pytest.fixture
def plain(trained, tmp_path) -> Path:
    """The same model as any transformers folder: without Pippin's record."""
    folder = tmp_path / "plain"
    shutil.copytree(trained, folder)
    (folder / "run.json").unlink()
    return folder


@pytest.fixture
def pair_run(trained, tmp_path) -> Path:
    """The same model, recorded as trained on the columns q and p."""
    folder = tmp_path / "pairs"
    shutil.copytree(trained, folder)
    edit_record(folder, lambda record: record["data"].update(text_columns=["q", "p"]))
    return folder


def test_empty_texts_get_no_label(run_cli, trained):
    code, out, err = run_cli("predict", trained, "--text", "", "--text", "the dog")
    assert code == 0
    assert labels_of(out) == ["", "animal"]
    assert "1 of 2 rows" in err
    code, out, _ = run_cli("predict", trained, "--text", " ")
    assert (code, out.splitlines()[1]) == (0, " ,,")


def test_empty_cells_get_no_label(run_cli, trained, write_rows):
    rows = [{"id": 1, "text": None}, {"id": 2, "text": "the dog"}, {"id": 3, "text": "  "}, {"id": 4, "text": ""}]
    code, _, err = run_cli("predict", trained, "--file", write_rows("new.jsonl", rows), "--output", "out.jsonl")
    assert code == 0, err
    answers = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [(row["id"], row["label"]) for row in answers] == [(1, None), (2, "animal"), (3, None), (4, None)]
    assert [row["score"] is None for row in answers] == [True, False, True, True]
    assert "3 of 4 rows" in err


def test_a_pair_with_an_empty_half_gets_no_label(run_cli, pair_run, write_rows):
    rows = [{"q": "the dog", "p": ""}, {"q": "the dog", "p": "the cow"}]
    code, out, _ = run_cli("predict", pair_run, "--file", write_rows("new.csv", rows))
    assert code == 0
    assert [label == "" for label in labels_of(out)] == [True, False]


def test_cells_that_are_no_text_are_named(run_cli, trained):
    Path("new.jsonl").write_text('{"text": "the dog"}\n{"text": ["the", "dog"]}\n')
    code, out, err = run_cli("predict", trained, "--file", "new.jsonl")
    assert (code, out) == (2, "")
    assert "row 2 (line 2): column 'text' is ['the', 'dog'], not a text" in err


def test_a_plain_transformers_folder_works(run_cli, plain):
    code, out, _ = run_cli("predict", plain, "--text", "the duck")
    assert code == 0
    assert "animal" in out


def test_a_plain_folder_does_not_guess_the_text(run_cli, plain, write_rows):
    path = write_rows("new.csv", [{"id": "hammer", "comment": "the dog", "stars": 3}])
    code, out, err = run_cli("predict", plain, "--file", path)
    assert (code, out) == (2, "")
    assert "which column is the text? It has id, comment, stars" in err
    code, out, _ = run_cli("predict", plain, "--file", path, "--text_column", "comment")
    assert (code, labels_of(out)) == (0, ["animal"])


@pytest.mark.parametrize("name", ["text", "sentence", None])
def test_a_plain_folder_takes_what_is_plain(run_cli, plain, write_rows, name):
    row = {"id": "hammer", name: "the dog"} if name else {"anything": "the dog"}
    code, out, err = run_cli("predict", plain, "--file", write_rows("new.csv", [row]))
    assert (code, labels_of(out)) == (0, ["animal"])
    assert f"text from {name or 'anything'}" in err


def test_two_candidates_in_a_plain_folder(run_cli, plain, write_rows):
    path = write_rows("new.csv", [{"text": "the dog", "sentence": "a saw"}])
    assert "which column is the text?" in run_cli("predict", plain, "--file", path)[2]


def test_as_many_columns_as_in_training(run_cli, trained, pair_run, write_rows):
    path = write_rows("new.csv", [{"q": "the dog", "p": "a saw", "stars": 1}])
    for run, asked, message in [
        (pair_run, "q", "was trained on 2 texts a row (q, p), but 1 came: name 2 with --text_column"),
        (trained, "q,stars", "was trained on 1 text a row (text), but 2 came: name 1 with --text_column"),
        (pair_run, "q,q", "names a column twice"),
    ]:
        code, out, err = run_cli("predict", run, "--file", path, "--text_column", asked)
        assert (code, out) == (2, "")
        assert message in err
    assert run_cli("predict", pair_run, "--file", path, "--text_column", "p,q")[0] == 0
    assert "give --text and --text2" in run_cli("predict", pair_run, "--text", "x")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no/such/run", "--text", "x"], "there is no such folder"),
        (["nosuchrun", "--text", "x"], "there is no such folder"),
        (["RUN", "--txt", "x"], "Did you mean --text?"),
        (["RUN", "--text", "x", "--top_k", "0"], "--top_k 0 must be at least 1"),
        (["RUN", "--text", "x", "--top_k", "2", "--all_scores"], "--top_k and --all_scores exclude each other"),
        (["--text", "x"], "name one RUN folder"),
        (["RUN", "--file", "missing.csv"], "missing.csv: there is no such file"),
        (["RUN", "--text", "x", "--output", "out.xlsx"], "must end in .csv or .jsonl"),
        (["RUN", "--text", "x", "--device", "gpu"], "there is no such device"),
        (["RUN", "--text", "x", "--text2", "y"], "was trained on 1 text"),
        (["RUN", "--text", "x", "--text_column", "foo"], "--text_column goes with --file"),
        (["RUN", "--text_column", "foo"], "--text_column goes with --file"),
        (["RUN", "-text", "x"], "-text: flags start with two dashes. Did you mean --text?"),
        (["-x", "x.csv", "RUN", "--text", "x"], "pippin: -x: flags start with two dashes."),
        (["-o", "x.xlsx", "RUN", "--text", "x"], "--output x.xlsx: the name must end in"),
        (["RUN", "--txt"], "pippin: --txt: there is no such flag. Did you mean --text?\n"),
        (["--foo", "RUN"], "pippin: --foo: there is no such flag.\n"),
        (["RUN", "--text", "--output", "x.csv"], "pippin: --text needs a value after it.\n"),
        (["RUN", "--text", "x\ud800"], "holds half of a character"),
        (["runs/none", "--text", "x"], "there is no such folder"),
    ],
)
def test_mistakes(run_cli, trained, arguments, message):
    code, out, err = run_cli("predict", *[trained if word == "RUN" else word for word in arguments])
    assert (code, out) == (2, "")
    assert message in err


def test_missing_text_column_names_those_that_are_there(run_cli, trained, write_rows):
    path = write_rows("other.csv", [{"body": "the dog", "n": 1}])
    code, _, err = run_cli("predict", trained, "--file", path)
    assert code == 2
    assert "body, n" in err
    code, out, _ = run_cli("predict", trained, "--file", path, "--text_column", "body")
    assert code == 0
    assert "animal" in out


def test_the_hub_is_asked_aloud(run_cli, monkeypatch):
    code, _, err = run_cli("predict", "no/such", "--text", "x")
    assert code == 2
    first, second = err.splitlines()
    assert first == "there is no folder no/such here: asking the Hub"
    assert "no/such cannot be loaded" in second
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: "config.json")
    assert "asking the Hub" not in run_cli("predict", "no/such", "--text", "x")[2]


def test_a_file_is_no_run(run_cli):
    Path("model.safetensors").write_bytes(b"")
    code, _, err = run_cli("predict", "model.safetensors", "--text", "x")
    assert code == 2
    assert "is a file" in err


def test_a_folder_that_is_not_a_run(run_cli, trained, tmp_path):
    (tmp_path / "empty").mkdir()
    code, _, err = run_cli("predict", tmp_path / "empty", "--text", "x")
    assert code == 2
    assert "empty is not a Pippin run, and holds no model (no config.json). Name the folder that `pippin train`" in err
    code, _, err = run_cli("predict", trained.parent, "--text", "x")
    assert code == 2
    assert f"It holds the runs run: name one, such as {trained}." in err
    assert "Did you mean run?" in run_cli("predict", trained.with_name("rum"), "--text", "x")[2]


def test_an_unfinished_run_says_where_it_stopped(run_cli, command, interrupt):
    from pippin.runs.checkpoints.lock import locked

    interrupt(6)
    assert command("run")[0] == 143
    code, _, err = run_cli("predict", "run", "--text", "x")
    assert code == 2
    assert "run holds no trained model yet: its run stopped at step 6 of 42. To continue: pippin resume run" in err
    with locked(Path("run")):
        assert "its run is still at work, at step 6 of 42. Wait for it" in run_cli("predict", "run", "--text", "x")[2]
    Path("run/events.jsonl").write_text('nonsense\n{"step": 1e999}\n[]\n')
    assert "its run stopped within its first steps of 42." in run_cli("predict", "run", "--text", "x")[2]


def test_a_model_that_was_never_trained_is_refused(run_cli, tiny_model):
    code, out, err = run_cli("predict", tiny_model, "--text", "x")
    assert (code, out) == (2, "")
    assert "its answers would be random" in err
