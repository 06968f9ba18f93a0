"""`pippin predict` and `pippin.load`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from conftest import make_rows


@pytest.fixture(scope="module")
def trained(tiny_model, tmp_path_factory) -> Path:
    import pippin

    folder = tmp_path_factory.mktemp("trained")
    rows = folder / "words.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in make_rows(120)))
    pippin.train(rows, model_name_or_path=tiny_model, output_dir=folder / "run", learning_rate=5e-3,
                 num_train_epochs=15, per_device_train_batch_size=16, quiet=True)  # fmt: skip
    return folder / "run"


def test_texts(run_cli, trained):
    code, out, err = run_cli("predict", trained, "--text", "the old dog", "--text", 'my "new" hammer, and')
    assert code == 0, err
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["label"] for row in rows] == ["animal", "tool"]
    assert rows[1]["text"] == 'my "new" hammer, and'
    assert all(0.5 < float(row["score"]) <= 1 for row in rows)


def test_standard_input(run_cli, trained, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("the soup\n\nthe wolf\n"))
    code, out, _ = run_cli("predict", trained)
    assert code == 0
    assert [row["label"] for row in csv.DictReader(io.StringIO(out))] == ["food", "animal"]


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


def test_from_python(trained):
    import pippin

    classifier = pippin.load(trained)
    answers = classifier.predict(["a cow", "green cheese near"])
    assert [answer.label for answer in answers] == ["animal", "food"]
    assert classifier.predict([]) == []
    with pytest.raises(pippin.PippinError, match="list of texts"):
        classifier.predict("a cow")


def test_a_plain_transformers_folder_works(run_cli, trained, tmp_path):
    import shutil

    plain = tmp_path / "plain"
    shutil.copytree(trained, plain)
    (plain / "run.json").unlink()
    code, out, _ = run_cli("predict", plain, "--text", "the duck")
    assert code == 0
    assert "animal" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no/such/run", "--text", "x"], "there is no such folder"),
        (["nosuchrun", "--text", "x"], "there is no such folder"),
        (["RUN", "--txt", "x"], "Did you mean --text?"),
        (["--text", "x"], "name one RUN folder"),
        (["RUN", "--file", "missing.csv"], "missing.csv: there is no such file"),
        (["RUN", "--text", "x", "--output", "out.xlsx"], "must end in .csv or .jsonl"),
        (["RUN", "--text", "x", "--device", "gpu"], "there is no such device"),
        (["RUN", "--text", "x", "--text2", "y"], "was trained on 1 text"),
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


def test_unfinished_run(run_cli, tmp_path):
    (tmp_path / "run").mkdir()
    code, _, err = run_cli("predict", tmp_path / "run", "--text", "x")
    assert code == 2
    assert "no config.json" in err
