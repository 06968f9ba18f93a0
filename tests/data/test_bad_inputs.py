"""The thirty inputs on which run_glue.py gave no plain error (research/reliability.md, 2g), in its numbering."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
from data_helpers import changed, lines, load, refusal, text, write

HEADER = "sentence,label"
NUMBERS = ("1", "0")


@pytest.fixture
def valid() -> str:
    return write("valid.csv", HEADER, lines(16, start=1000))


def test_0b_words_as_labels(valid):
    data = load(train_file=write("train.csv", HEADER, lines(64)), validation_file=valid)
    assert data.labels.names == ("neg", "pos")
    assert data.train.labels.tolist() == [1, 0] * 32
    assert len(data.validation["validation"]) == 16


@pytest.mark.parametrize("labels", [("pos", "neg"), NUMBERS], ids=["1 words", "2 numbers"])
def test_1_and_2_missing_label(labels):
    train = write("train.csv", HEADER, changed(lines(64, labels), 9, "a text without label,"))
    refusal("train.csv, row 9 (line 10)", "column 'label' is empty", "--skip_bad_rows", data=train)
    data = load(data=train, skip_bad_rows=True, validation_split=0)
    assert len(data.train) == 63
    assert 9 not in data.train.rows
    assert data.labels.names == tuple(sorted(labels))
    assert any("1 of 64 rows left out" in note and "row 9 (line 10)" in note for note in data.notes)


def test_3_no_label_column():
    train = write("train.csv", "sentence", [text(number) for number in range(64)])
    refusal("train.csv: which column is the label?", "the columns are sentence", "--label_column", data=train)


def test_4_empty_text():
    train = write("train.csv", HEADER, changed(lines(64), 64, ",pos"))
    refusal("train.csv, row 64 (line 65)", "column 'sentence' is empty", "--skip_bad_rows", data=train)


def test_5_white_space_as_text():
    train = write("train.csv", HEADER, changed(lines(64), 2, " \t  ,pos"))
    refusal("train.csv, row 2 (line 3)", "'sentence' holds only white space", "--skip_bad_rows", data=train)
    assert len(load(data=train, skip_bad_rows=True, validation_split=0).train) == 63


def test_6_latin_1():
    train = write("train.csv", HEADER, changed(lines(64), 30, "café,pos"), encoding="latin-1")
    refusal("train.csv, line 31", "byte 0xE9 is not utf-8", "--encoding", "latin-1", data=train)
    data = load(data=train, encoding="latin-1", validation_split=0)
    assert data.train.texts[29] == "café"


def test_7_unknown_label_in_validation():
    refusal(
        "valid.csv, row 3 (line 4), column 'label'",
        "the label 'netural' of the validation rows is not in the training rows, which have neg, pos",
        train_file=write("train.csv", HEADER, lines(64)),
        validation_file=write("valid.csv", HEADER, changed(lines(16, start=1000), 3, "so so,netural")),
    )


def test_8_single_class(valid):
    train = write("train.csv", HEADER, lines(64, ("pos",)))
    refusal("train.csv, column 'label': every row has the label 'pos'", "--label_column", data=train)


def test_9_one_text_of_megabytes():
    train = write("train.csv", HEADER, changed(lines(64), 5, "endless words " * 400_000 + ",pos"))
    start = time.process_time()
    data = load(data=train, validation_split=0)
    assert time.process_time() - start < 2
    assert len(data.train) == 64
    assert len(data.train.texts[4]) == 512_000, "the tokenizer must not be given megabytes that it will cut anyway"


@pytest.mark.parametrize("content", [b"", b"\n\n", b" \r\n "])
def test_10_empty_file(tmp_path, content):
    (tmp_path / "train.csv").write_bytes(content)
    refusal("train.csv is empty", "column names in its first line", data="train.csv")


def test_11_header_only():
    refusal("train.csv has no rows", "sentence, label", data=write("train.csv", HEADER))


def test_12_semicolons():
    data = load(data=write("train.csv", "sentence;label", lines(64, separator=";")))
    assert data.columns.text == ("sentence",)
    assert data.labels.names == ("neg", "pos")
    assert "train.csv: fields are separated by semicolons." in data.notes


@pytest.mark.parametrize("name", ["copy.csv", "train.csv"])
def test_13_validation_is_a_copy_of_training(name):
    train = write("train.csv", HEADER, lines(64))
    copy = write(name, HEADER, lines(64))
    refusal(
        f"{name}: all 64 validation rows are in train.csv too",
        "a score on them means nothing",
        "Give other rows",
        train_file=train,
        validation_file=copy,
    )


def test_13_some_validation_rows_stand_in_training():
    train = write("train.csv", HEADER, lines(64))
    data = load(train_file=train, validation_file=write("valid.csv", HEADER, lines(16, start=60)))
    assert data.warnings == ["4 of 16 validation texts are in the training rows too: the score will be too high."]


def test_14_numbers_in_the_text_column():
    train = write("train.csv", HEADER, [f"{number * 17},{number % 2}" for number in range(64)])
    refusal("train.csv, column 'sentence' holds only numbers (such as 0)", "--text_column", data=train)
    data = load(data=train, text_column="sentence", validation_split=0)
    assert data.train.texts[:2] == ["0", "17"], "named by flag, numbers are taken as text"


@pytest.mark.parametrize("row", [1, 10, 64])
def test_15_unbalanced_quote(row):
    train = write("train.csv", HEADER, changed(lines(64), row, '"an open quote,pos'))
    refusal(f"train.csv, line {row + 1}: a double quote is opened", "Close it", data=train)


def test_16_label_with_trailing_space():
    rows = changed(changed(lines(64), 3, "a fine day,pos "), 4, "a poor day,  neg")
    data = load(data=write("train.csv", HEADER, rows), validation_split=0)
    assert data.labels.names == ("neg", "pos")
    assert data.train.labels[2:4].tolist() == [1, 0]
    assert any("2 labels in column 'label' had spaces around them (such as 'pos ')" in note for note in data.notes)


@pytest.mark.parametrize("header", ["id,sentence,label", "id,words,verdict", "code,words,verdict"])
def test_17_id_column_first(header):
    rows = [f"doc-{number:08d}-0123456789abcdef0123456789,{line}" for number, line in enumerate(lines(64))]
    data = load(data=write("train.csv", header, rows), validation_split=0)
    assert data.columns.text == (header.split(",")[1],)
    assert data.train.texts[0] == text(0)
    assert header.split(",")[1] in data.columns.reason


def test_18_label_minus_one():
    train = write("train.csv", HEADER, changed(lines(64, NUMBERS), 20, "unlabelled words,-1"))
    refusal(
        "train.csv, row 20 (line 21), column 'label': the label is -1",
        "marks a row without a label",
        "Give these rows a label or remove them",
        data=train,
    )


def test_18_minus_one_as_a_class():
    data = load(data=write("train.csv", HEADER, lines(63, ("-1", "0", "1"))))
    assert data.labels.names == ("-1", "0", "1")
    assert any("-1 (21 rows) is treated as a class" in warning for warning in data.warnings)
    assert load(data=write("train.csv", HEADER, lines(64, ("-1", "1")))).warnings == []


def test_19_missing_training_file():
    write("train.csv", HEADER, lines(64))
    refusal("trian.csv: there is no such file. Did you mean train.csv?", data="trian.csv")


def test_20_validation_without_label():
    refusal(
        "valid.csv has no column 'label', which holds the label in training; it has sentence",
        train_file=write("train.csv", HEADER, lines(64)),
        validation_file=write("valid.csv", "sentence", [text(number) for number in range(1000, 1016)]),
    )


def test_21_byte_order_mark():
    rows = [f"{number % 2},{text(number)}" for number in range(64)]
    data = load(data=write("train.csv", "label,sentence", rows, encoding="utf-8-sig"), validation_split=0)
    assert data.columns.label == "label"
    assert data.train.texts[0] == text(0)


def test_22_two_rows():
    train = write("train.csv", HEADER, lines(2))
    refusal("train.csv has 2 rows: too few", "at least 10", "--validation_split 0", data=train)
    assert len(load(data=train, validation_split=0).train) == 2


def test_23_numbers_in_training_and_words_in_validation(valid):
    refusal(
        "valid.csv, row 1 (line 2), column 'label': the label 'pos'",
        "is not in the training rows, which have 0, 1",
        train_file=write("train.csv", HEADER, lines(64, NUMBERS)),
        validation_file=valid,
    )


def test_24_labels_with_a_decimal_point():
    train = write("train.csv", HEADER, lines(64, ("1.0", "0.0")))
    data = load(train_file=train, validation_file=write("valid.csv", HEADER, lines(16, NUMBERS, start=1000)))
    assert data.labels.names == ("0", "1")
    assert not data.labels.regression
    assert data.train.labels.dtype == np.int64
    assert data.validation["validation"].labels.tolist() == [1, 0] * 8


def test_25_nul_byte():
    train = write("train.csv", HEADER, changed(lines(64), 7, "two\0words,pos"))
    refusal("train.csv, ", "line 8", "NUL byte", data=train)


@pytest.mark.parametrize(("line", "fields"), [("one, two,pos", 3), ("no comma here", 1), ("a,b,c,d", 4)])
def test_26_wrong_number_of_fields(line, fields):
    train = write("train.csv", HEADER, changed(lines(64), 8, line))
    refusal(
        "train.csv: the first line names 2 columns (sentence, label)",
        f"row 8 (line 9) has {fields}: {line!r}",
        "double quotes",
        data=train,
    )


def test_27_broken_jsonl_line():
    rows = [json.dumps({"sentence": text(number), "label": number % 2}) for number in range(64)]
    train = write("train.jsonl", changed(rows, 12, '{"sentence": "cut off", "lab'))
    refusal("train.jsonl, line 12: not valid JSON", "cut off", "Each line must hold one object", data=train)


def test_28_jsonl_row_without_label():
    rows = [json.dumps({"sentence": text(number), "label": number % 2}) for number in range(64)]
    train = write("train.jsonl", changed(rows, 12, '{"sentence": "no label"}'))
    refusal("train.jsonl, row 12 (line 12): column 'label' is empty", "--skip_bad_rows", data=train)


def test_29_max_length_over_the_model_s(tiny_model, tmp_path):
    """The model takes 64 tokens: texts are cut there, which the plan says."""
    from transformers import AutoTokenizer

    from pippin.data.encoding import encode
    from pippin.models.loading import longest_input
    from pippin.plan.facts import Rows
    from pippin.plan.length import choose_max_length
    from pippin.recipe.reading import recipe_from

    class Config:
        max_position_embeddings = 64
        model_type = "bert"

    train = write("train.csv", HEADER, changed(lines(64), 1, "bread and cheese " * 100 + ",pos"))
    recipe = recipe_from({"data": train, "max_seq_length": 512, "validation_split": 0}).recipe
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    choice = choose_max_length(recipe, longest_input(tokenizer, Config), Rows(None))
    assert choice.value == 64
    assert "max_seq_length is 512" in choice.reason
    encoded = encode(load(data=train, validation_split=0).train, tokenizer, choice.value)
    assert encoded.lengths.max() == 64
    assert encoded.cut == 1
