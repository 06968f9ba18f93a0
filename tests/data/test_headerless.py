"""CSV and TSV files whose first line is a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import make_rows
from pippin.data.tables import read_table
from pippin.errors import PippinError


def written(name: str, *lines: str) -> Path:
    Path(name).write_text("".join(f"{line}\n" for line in lines))
    return Path(name)


@pytest.mark.parametrize(("name", "sign"), [("rows.csv", ","), ("rows.tsv", "\t"), ("rows.csv", ";")])
def test_every_line_is_a_row(name, sign):
    path = written(name, f"good{sign}a film", "", f'bad{sign}"a{sign}book"', f"good{sign}a song")
    table = read_table(path, header=("label", "text"))
    assert table.columns["label"] == ["good", "bad", "good"]
    assert table.columns["text"] == ["a film", f"a{sign}book", "a song"]
    assert list(table.lines) == [1, 3, 4]
    assert list(read_table(path, header=()).columns) == ["column1", "column2"]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        (("text",), "--column_names names 1 columns (text), but row 1 (line 1) has 2"),
        (("text", "label"), "row 1 (line 1) holds the names of --column_names. Leave the flag out"),
        (("text", "text"), "has the column name text twice"),
    ],
)
def test_names_that_do_not_fit(header, words):
    with pytest.raises(PippinError) as found:
        read_table(written("rows.csv", "text,label", "a film,good"), header=header)
    assert words in str(found.value)


def test_rows_of_different_lengths_and_other_kinds_of_files():
    with pytest.raises(PippinError, match="the first line has 2 columns .*, but row 2 .line 2. has 1"):
        read_table(written("rows.csv", "a film,good", "a book"), header=())
    with pytest.raises(PippinError, match="--no_header is for CSV, TSV and CoNLL files"):
        read_table(written("rows.jsonl", "{}"), header=())


@pytest.mark.parametrize("flags", [("--no_header",), ("--column_names", "words,kind", "--label_column", "kind")])
def test_a_header_that_is_there_is_no_row(run_cli, flags):
    file = written("rows.csv", "text,label", *(f"{row['text']},{row['label']}" for row in make_rows(60)))
    code, _, err = run_cli("train", file, *flags)
    assert code == 2
    assert "line 1 names the columns ('label' stands among the labels). Leave out --no_header" in err


def test_from_the_file_to_predictions(run_cli, tiny_model):
    file = written("rows.csv", *(f"{row['label']},{row['text']}" for row in make_rows(60)))
    train = ("train", file, "--model", tiny_model, "--max_steps", 2, "--output", "run")
    code, _, err = run_cli(*train)
    assert code == 2
    assert "looks like data, not like the name of a column" in err
    assert "--column_names, as in text,label" in err
    code, out, err = run_cli(*train, "--no_header")
    assert code == 0, err
    assert "text from 'column2'" in out
    assert "label from 'column1'" in out
    code, out, err = run_cli(*train, "--column_names", "kind,words", "--label_column", "kind", "--overwrite_output_dir")
    assert code == 0, err
    written("new.csv", "my dog", "old bread")
    code, out, err = run_cli("predict", "run", "--file", "new.csv", "--column_names", "words", "--quiet")
    assert code == 0, err
    assert len(out.splitlines()) == 3
