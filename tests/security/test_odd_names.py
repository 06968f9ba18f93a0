"""Names that are not UTF-8, as file systems allow them: in flags, messages, records and pages."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from helpers import make_rows

NAME = os.fsdecode(b"caf\xe9")
SHOWN = "caf\\udce9"


@pytest.fixture
def rows() -> str:
    """A file of such a name."""
    path = Path(f"{NAME}.jsonl")
    try:
        path.write_text("".join(json.dumps(row) + "\n" for row in make_rows(24)))
    except OSError:
        pytest.skip("this file system takes only UTF-8")
    return str(path)


def test_a_run_from_first_to_last(run_cli, train, rows):
    Path(f"{NAME}.yaml").write_text("seed: 7\n")
    out, _ = train(rows, "--config", f"{NAME}.yaml", "--run_name", NAME, "--test_file", rows, steps=1)
    assert "saved in run\nreport: run/report.html\n" in out
    run = json.loads(Path("run/run.json").read_text())
    assert (run["recipe"]["data"], run["recipe"]["run_name"]) == (rows, NAME), "as it is, for whoever goes on with it"
    assert SHOWN in Path("run/report.html").read_text()
    assert SHOWN in Path("run/README.md").read_text()
    for words in (["report", "run"], ["resume", "run"], ["preflight", "run"]):
        code, out, err = run_cli(*words)
        assert code == 0, err
        (out + err).encode()
    code, _, err = run_cli("predict", "run", "--file", rows, "--output", f"{NAME}.csv")
    assert (code, err) == (0, f"24 rows written to {SHOWN}.csv\n")
    assert len(Path(f"{NAME}.csv").read_text().splitlines()) == 25


def test_parquet(rows):
    import pyarrow as pa
    import pyarrow.parquet as parquet

    from pippin.data.tables import read_table

    parquet.write_table(pa.table({"text": ["a", "b"]}), "rows.parquet")
    os.rename("rows.parquet", f"{NAME}.parquet")
    assert read_table(Path(f"{NAME}.parquet")).columns == {"text": ["a", "b"]}


def test_what_cannot_be_used_is_said_at_once(run_cli, rows, word_file, tiny_model):
    shutil.copytree(tiny_model, NAME)
    not_utf_8 = f"{SHOWN}: the name of a model's folder must be valid UTF-8"
    for words, message in (
        (["train", word_file, "--output_dir", f"{NAME}_out"], f"--output_dir {SHOWN}_out is not UTF-8"),
        (
            ["train", word_file, "--model_name_or_path", NAME],
            f"{SHOWN}: the name of a model's folder must be valid UTF-8",
        ),
        (["train", word_file, "--tokenizer_name", NAME], not_utf_8),
        (["train", f"{NAME}.csv"], f"{SHOWN}.csv: there is no such file. Did you mean {SHOWN}.jsonl?"),
        (["train", word_file, "--label_column", NAME], f"no column '{SHOWN}'"),
        ([NAME], f"pippin {SHOWN}: there is no such command"),
    ):
        code, _, err = run_cli(*words)
        assert code == 2
        assert message in err


def test_columns_that_hold_half_of_a_character(run_cli, train):
    objects = [{"te\ud800xt": row["text"], "label": row["label"]} for row in make_rows(24)]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in objects))
    train("rows.jsonl", "--test_file", "rows.jsonl", steps=1)
    assert json.loads(Path("run/run.json").read_text())["data"]["text_columns"] == ["te\ud800xt"]
    assert Path("run/predictions.csv").read_text().startswith("row,te\\ud800xt,true_label")
    for words in (["--file", "rows.jsonl"], ["--file", "rows.jsonl", "--output", "out.jsonl"]):
        assert run_cli("predict", "run", *words)[0] == 0
    assert json.loads(Path("out.jsonl").read_text().splitlines()[0])["te\ud800xt"] == objects[0]["te\ud800xt"]
