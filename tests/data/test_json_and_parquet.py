"""JSON, JSONL and Parquet: cells with types of their own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from data_helpers import changed, lines, load, refusal, text, write

COUNT = 40
TEXTS = [text(number) for number in range(COUNT)]
LABELS = ["pos", "neg"] * (COUNT // 2)
OBJECTS = [{"text": words, "label": label} for words, label in zip(TEXTS, LABELS, strict=True)]


def write_json(value, name: str = "train.json") -> str:
    return write(name, json.dumps(value))


def write_parquet(columns: dict, name: str = "train.parquet", features: dict | None = None) -> str:
    table = pa.table(columns)
    if features:
        metadata = json.dumps({"info": {"features": features}})
        table = table.replace_schema_metadata({"huggingface": metadata})
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(table, name)
    return name


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(OBJECTS),
        json.dumps(OBJECTS, indent=2),
        json.dumps({"version": "1.0", "data": OBJECTS}),
        json.dumps({"text": TEXTS, "label": LABELS}),
        "\n".join(map(json.dumps, OBJECTS)),
        "\ufeff" + "\r\n\r\n".join(map(json.dumps, OBJECTS)) + "\n\n",
    ],
    ids=["array", "indented", "data", "columns", "lines", "lines with BOM, gaps, CRLF"],
)
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_shapes_of_json(content, suffix):
    data = load(data=write(f"train.{suffix}", content), validation_split=0)
    assert data.train.texts == TEXTS
    assert data.labels.names == ("neg", "pos")


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ({"text": TEXTS, "label": LABELS[:-1]}, ["columns differ in length (text 40, label 39)"]),
        ({"train": OBJECTS, "validation": OBJECTS}, ["several lists of rows (train, validation)", "--train_file"]),
        ({"text": {"0": "a"}, "label": {"0": 1}}, ["objects within an object", 'orient="records"']),
        ([*OBJECTS, "a bare string"], ["row 41: expected an object, found 'a bare string'"]),
        ("just a string", ["expected rows, found 'just a string'"]),
        ([], ["has no rows"]),
    ],
)
def test_shapes_that_are_no_rows(value, parts):
    refusal("train.json", *parts, data=write_json(value))


def test_broken_json_array():
    broken = json.dumps(OBJECTS, indent=0).replace('"label": "neg"\n},', '"label": "neg"\n', 1)
    refusal("train.json, line 10: not valid JSON", "list of objects", data=write("train.json", broken))


def test_nested_objects_as_text():
    nested = [{"text": {"en": words}, "label": label} for words, label in zip(TEXTS, LABELS, strict=True)]
    refusal(
        "train.json, row 1: column 'text' holds an object",
        "alpha number 0",
        "not text",
        "--text_column",
        data=write_json(nested),
    )
    one = changed(OBJECTS, 7, {"text": ["a", "b"], "label": "pos"})
    refusal("train.json, row 7: column 'text' holds a list (['a', 'b']), not text", data=write_json(one))
    assert len(load(data="train.json", skip_bad_rows=True, validation_split=0).train) == COUNT - 1


def test_several_labels_where_one_is_wanted():
    several = write_json([{"text": words, "label": ["a", "b"]} for words in TEXTS])
    said = "train.json, row 1: column 'label' holds a list (['a', 'b'])"
    refusal(said, "one label a row", data=several, several_labels="off")


def test_null_and_nan_are_missing():
    rows = changed(changed(OBJECTS, 3, {"text": None, "label": "pos"}), 5, {"text": float("nan"), "label": "pos"})
    rows = changed(rows, 9, {"text": "words", "label": float("nan")})
    refusal(
        "row 3: column 'text' is empty; row 5: column 'text' is empty; row 9: column 'label' is empty",
        data=write_json(rows),
    )


def test_half_a_character():
    """A lone surrogate is legal in JSON and stops every tokenizer with a riddle."""
    rows = changed(OBJECTS, 3, {"text": "smile \ud83d", "label": "pos"})
    refusal("row 3: column 'text' holds half of a character", data=write_json(rows))


def test_numbers_among_texts_are_texts():
    rows = changed(OBJECTS, 3, {"text": 1984, "label": "pos"})
    assert load(data=write_json(rows), validation_split=0).train.texts[2] == "1984"


def test_ids_and_dates_stay_as_written():
    rows = [
        {"id": f"{number:03d}", "text": f"2020-01-{number % 28 + 1:02d}T00:00", "label": number % 2}
        for number in range(40)
    ]
    assert load(data=write_json(rows), validation_split=0).train.texts[0] == "2020-01-01T00:00"


@pytest.mark.parametrize("truth", ["True", "TRUE", "true"])
def test_truth_values_match_between_formats(truth):
    train = write_json([{"text": words, "label": number % 2 == 0} for number, words in enumerate(TEXTS)])
    other = truth.replace("True", "False").replace("TRUE", "FALSE").replace("true", "false")
    validation = write("valid.csv", "text,label", lines(10, (truth, other), start=1000))
    data = load(train_file=train, validation_file=validation)
    assert data.labels.names == ("false", "true")
    assert data.validation["validation"].labels.tolist() == [1, 0] * 5


def test_parquet_dictionaries_nulls_and_nan():
    words = pa.array(TEXTS).dictionary_encode()
    data = load(data=write_parquet({"text": words, "label": pa.array(LABELS).dictionary_encode()}), validation_split=0)
    assert data.train.texts == TEXTS
    assert data.labels.names == ("neg", "pos")
    floats = [float(number % 2) for number in range(COUNT)]
    assert load(data=write_parquet({"text": TEXTS, "label": floats})).labels.names == ("0", "1")
    floats[4] = float("nan")
    refusal("train.parquet, row 5: column 'label' is empty", data=write_parquet({"text": TEXTS, "label": floats}))
    holes = changed(TEXTS, 6, None)
    refusal("train.parquet, row 6: column 'text' is empty", data=write_parquet({"text": holes, "label": LABELS}))


def test_parquet_lists_structs_and_bytes_are_no_text():
    for kind, column in {
        "a list": [[words] for words in TEXTS],
        "an object": [{"en": words} for words in TEXTS],
        "bytes": [words.encode() for words in TEXTS],
    }.items():
        refusal(
            f"train.parquet, row 1: column 'text' holds {kind}",
            "--text_column",
            data=write_parquet({"text": column, "label": LABELS}),
        )


def test_parquet_of_pandas_has_an_index_that_is_no_text():
    ids = [f"this is row number {number} of the whole table" for number in range(COUNT)]
    data = load(data=write_parquet({"a": TEXTS, "b": LABELS, "__index_level_0__": ids}), validation_split=0)
    assert data.columns.text == ("a",)


def test_parquet_that_is_cut_short_or_a_pointer():
    path = Path(write_parquet({"text": TEXTS, "label": LABELS}))
    path.write_bytes(path.read_bytes()[:-20])
    refusal("train.parquet is not a readable Parquet file", "cut short", data=str(path))
    refusal("train.parquet is a Git LFS pointer", data=write(path, "version https://git-lfs.github.com/spec/v1"))


def test_parquet_with_a_damaged_text():
    path = Path("train.parquet")
    parquet.write_table(pa.table({"text": TEXTS, "label": LABELS}), path, compression="none", use_dictionary=False)
    path.write_bytes(path.read_bytes().replace(TEXTS[8].encode(), b"\xff" + TEXTS[8].encode()[1:], 1))
    refusal("train.parquet, row 9, column 'text': the text is not UTF-8", "damaged", data=str(path))


FEATURES = {
    "text": {"dtype": "string", "_type": "Value"},
    "tags": [{"dtype": "string", "_type": "Value"}],
    "label": {"names": ["World", "Sports", "Business"], "_type": "ClassLabel"},
}


def classes_of_the_hub(numbers: list[int]) -> dict:
    return {"text": TEXTS, "tags": [["x"]] * COUNT, "label": pa.array(numbers, pa.int64())}


def test_class_names_of_the_hub_keep_their_order():
    train = write_parquet(classes_of_the_hub([number % 3 for number in range(COUNT)]), features=FEATURES)
    validation = write("valid.csv", "text,label", lines(9, ("Business", "World", "Sports"), start=1000))
    data = load(train_file=train, validation_file=validation)
    assert data.labels.names == ("World", "Sports", "Business")
    assert data.train.labels[:3].tolist() == [0, 1, 2]
    assert data.validation["validation"].labels[:3].tolist() == [2, 0, 1]


def test_class_of_the_hub_without_rows_is_said():
    train = write_parquet(classes_of_the_hub([number % 2 for number in range(COUNT)]), features=FEATURES)
    data = load(data=train)
    assert data.labels.names == ("World", "Sports", "Business")
    assert any("1 of 3 classes has no training row: Business" in warning for warning in data.warnings)
    train = write_parquet(classes_of_the_hub([1] * COUNT), features=FEATURES)
    refusal("every row has the label 'Sports'", data=train)


def test_minus_one_of_the_hub_is_a_missing_label():
    numbers = [number % 3 for number in range(COUNT)]
    train = write_parquet(classes_of_the_hub(numbers), features=FEATURES)
    secret = write_parquet(classes_of_the_hub([-1] * COUNT), "test.parquet", features=FEATURES)
    assert load(train_file=train, test_file=secret).test["test"].labels is None
    numbers[8] = -1
    refusal(
        "train.parquet, row 9: column 'label' holds -1, which marks a row without a label",
        data=write_parquet(classes_of_the_hub(numbers), features=FEATURES),
    )


def test_regression_keeps_numbers_of_every_type():
    for column in (
        [number / 7 for number in range(COUNT)],
        list(range(COUNT)),
        [str(number / 8) for number in range(COUNT)],
    ):
        data = load(data=write_parquet({"text": TEXTS, "score": column}), do_regression=True, validation_split=0)
        assert data.labels.regression
        np.testing.assert_allclose(data.train.labels, np.array(column, dtype=np.float32))
