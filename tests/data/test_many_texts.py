"""More than two texts a row: joined by the tokenizer's separator, and told apart wherever they are shown."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from helpers import make_rows
from pippin.commands.predictor import Predictor
from pippin.data.encoding import encode
from pippin.data.examples import SEPARATOR, Examples, pairs_of

COLUMNS = ["title", "body", "author"]


def write(name: str, count: int, seed: int = 0) -> str:
    texts, more, names = (make_rows(count, seed + each) for each in range(3))
    rows = [
        [row["text"], other["text"], third["text"], row["label"]]
        for row, other, third in zip(texts, more, names, strict=True)
    ]
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows([[*COLUMNS, "label"], *rows])
    return name


def test_they_are_joined_as_the_tokenizer_joins(tiny_model):
    texts = [["the cat", "old"], ["a dog", "big"], ["my hen", "red"]]
    examples = Examples(texts[0], pairs_of(texts[1:]), None, [1, 2], "")
    assert examples.columns == texts
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    encoded = encode(examples, tokenizer, 64)
    expected = tokenizer("the cat", "a dog [SEP] my hen")
    assert encoded.tokens[: encoded.offsets[1]].tolist() == expected["input_ids"]
    assert encoded.token_type_ids[: encoded.offsets[1]].tolist() == expected["token_type_ids"]


def test_the_mark_between_them_is_no_part_of_a_text():
    pairs = pairs_of([["one", f"t{SEPARATOR}wo"], ["two", "three"]])
    assert pairs == [f"one{SEPARATOR}two", f"t wo{SEPARATOR}three"]
    assert pairs_of([["one"]]) == ["one"]
    assert pairs_of([]) is None


@pytest.fixture
def trained_on_three(run_cli, tiny_model):
    code, out, error = run_cli(
        "train", write("rows.csv", 60), "--text_column", ",".join(COLUMNS), "--model_name_or_path", tiny_model,
        "--test_file", write("test.csv", 12, 9), "--do_train", "--do_eval", "--do_predict", "--max_steps", 6,
        "--output_dir", "run",
    )  # fmt: skip
    assert code == 0, error
    return out + error


def test_a_run_reads_them_and_says_so(trained_on_three, run_cli):
    assert "text from 'title' and 'body' and 'author' (named by flag)" in trained_on_three
    assert "the 3 texts of a row are joined by '[SEP]'" in trained_on_three
    assert "pippin predict run --file FILE" in trained_on_three
    with Path("run/predictions.csv").open() as file:
        predicted = list(csv.DictReader(file))
    with Path("test.csv").open() as file:
        given = list(csv.DictReader(file))
    assert [[row[name] for name in COLUMNS] for row in predicted] == [[row[name] for name in COLUMNS] for row in given]
    assert "--file FILE" in Path("run/README.md").read_text()

    code, out, error = run_cli("predict", "run", "--file", "test.csv")
    assert code == 0, error
    answers = Predictor.load("run").predict([tuple(row[name] for name in COLUMNS) for row in given])
    assert [row["predicted_label"] for row in csv.DictReader(out.splitlines())] == [each.label for each in answers]
    assert [each.label for each in answers] == [row["label"] for row in predicted]
    assert np.isclose(Predictor.load("run").predict(("the cat", "a dog", "my hen")).score, 0.5, atol=0.5)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--text", "one"], "trained on 3 texts a row (title, body, author), but 1 came: give a --file"),
        (["--file", "test.csv", "--text_column", "title,body"], "but 2 came: name 3 with --text_column"),
        (["--file", "test.csv", "--text_column", "title,body,title"], "names a column twice"),
    ],
)
def test_another_number_of_texts_is_refused(trained_on_three, run_cli, flags, said):
    code, _, error = run_cli("predict", "run", *flags)
    assert code == 2
    assert said in error
