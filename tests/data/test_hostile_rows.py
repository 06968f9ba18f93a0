"""Rows that nest, repeat their keys, never end their lines, or hold numbers and characters that nobody can keep."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from data_helpers import changed, lines, load, refusal, text, write

from pippin.data import text_files
from pippin.data.tables import open_table, read_table
from pippin.data.text_files import lines_of
from pippin.errors import PippinError

pytestmark = pytest.mark.usefixtures("garbage_waits")
DEEP = 200_000


def objects(count: int = 20, **more: object) -> list[str]:
    return [
        json.dumps({"text": text(number), "label": "pos" if number % 2 else "neg", **more}) for number in range(count)
    ]


@pytest.mark.parametrize("opening", ["[", '{"a": ', '[{"text": '])
@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_brackets_without_end(opening, suffix):
    refusal(f"rows.{suffix}", "brackets within brackets", data=write(f"rows.{suffix}", opening * DEEP))
    rows = [*objects(), '{"text": ' + opening * DEEP]
    refusal("rows.jsonl, line 21", "brackets within brackets", data=write("rows.jsonl", rows))


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl"])
def test_numbers_of_thousands_of_digits(name):
    row = f'{{"text": {"9" * 5000}, "label": 1}}'
    content = f"[{row}]" if name == "rows.json" else [*objects(), row]
    refusal(name, "a whole number of thousands of digits", data=write(name, content))


def test_numbers_beyond_those_of_floats():
    rows = [json.dumps({"text": text(n), "label": 10**400 if n == 3 else n}) for n in range(20)]
    refusal("rows.jsonl, row 4", "too large", data=write("rows.jsonl", rows), do_regression=True)
    assert load(data=write("rows.jsonl", objects(x=10**400)), validation_split=0).columns.text == ("text",)


@pytest.mark.parametrize("number", ["1e39", "-1e39", "3.5e38", "1e400"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_labels_that_float32_cannot_hold(name, number):
    if name == "rows.csv":
        rows = ["text,label", *changed([f"{text(n)},{n / 2}" for n in range(20)], 7, f"too much,{number}")]
    else:
        rows = [f'{{"text": "{text(n)}", "label": {number if n == 6 else n / 2}}}' for n in range(20)]
    refusal(f"{name}, row 7", "column 'label' holds", "too large", data=write(name, rows), do_regression=True)


@pytest.mark.parametrize("label", ["p\\ud800s", "p\\u0000s"], ids=["half a character", "NUL"])
def test_labels_that_no_file_can_hold(label):
    rows = [row.replace('"pos"', f'"{label}"') if n == 5 else row for n, row in enumerate(objects())]
    what = "half of a character" if "d800" in label else "a NUL byte"
    message = refusal("rows.jsonl, row 6", "column 'label'", what, data=write("rows.jsonl", rows))
    assert "--skip_bad_rows" in message
    assert len(load(data="rows.jsonl", skip_bad_rows=True, validation_split=0).train) == 19


def test_class_names_that_no_file_can_hold():
    features = {"label": {"names": ["ne\ud800g", "pos"], "_type": "ClassLabel"}}
    table = pa.table({"text": [text(n) for n in range(20)], "label": [n % 2 for n in range(20)]})
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    parquet.write_table(table.replace_schema_metadata(metadata), "rows.parquet")
    refusal("rows.parquet, column 'label'", "names a class that holds half of a character", data="rows.parquet")


@pytest.mark.parametrize(
    "info",
    [b"\xff", b"[", b"[" * DEEP, b"3", b"null", b'{"info": 3}', b'{"info": {"features": 3}}',
     b'{"info": {"features": [1]}}',
     b'{"info": {"features": {"label": 3}}}', b'{"info": {"features": {"label": {"names": 3}}}}',
     b'{"info": {"features": {"label": {"names": "ab"}}}}', b'{"info": {"features": {"label": {"names": [1, 2]}}}}',
     b'{"info": {"features": {"label": {"names": null}}}}', b'{"info": {"features": {"other": {"names": ["a"]}}}}'],
    ids=range(14),
)  # fmt: skip
def test_parquet_with_odd_metadata(info):
    table = pa.table({"text": [text(n) for n in range(20)], "label": [n % 2 for n in range(20)]})
    parquet.write_table(table.replace_schema_metadata({"huggingface": info, b"\xff": b"\xfe"}), "rows.parquet")
    assert load(data="rows.parquet", validation_split=0).labels.names == ("0", "1")


def test_parquet_with_values_that_python_has_no_word_for():
    beyond = pa.array([2**62] * 20, pa.timestamp("us"))
    table = pa.table({"text": [text(n) for n in range(20)], "label": [n % 2 for n in range(20)], "when": beyond})
    parquet.write_table(table, "rows.parquet")
    refusal("rows.parquet", "not a readable Parquet file", data="rows.parquet")


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl"])
@pytest.mark.parametrize(
    "row", ['{"text": "x", "label": "pos", "label": "neg"}', '{"text": "x", "label": "pos", "m": {"a": 1, "a": 2}}']
)
def test_a_key_that_stands_twice(name, row):
    """The last one would win, without a word."""
    rows = changed(objects(), 5, row)
    message = refusal("stands twice", data=write(name, "[" + ",\n".join(rows) + "]" if name == "rows.json" else rows))
    assert ("'label'" if '"label": "neg"' in row else "'a'") in message
    assert name != "rows.jsonl" or "rows.jsonl, line 5" in message
    assert name != "rows.json" or "rows.json, row 5" in message


@pytest.mark.parametrize("cell", ["1" * 200_000 + "x", " " * 200_000 + "x", "1," * 100_000, "+" + "9" * 200_000 + "."])
def test_cells_that_are_nearly_numbers(cell):
    """Told in one go along the cell: a pattern that tries again from every digit would take ten minutes."""
    rows = [*objects(), json.dumps({"text": cell, "label": "pos"})]
    assert len(load(data=write("rows.jsonl", rows), validation_split=0).train) == 21


def test_keys_without_end():
    """Each row with keys of its own: as many columns as rows, most of them empty."""
    rows = [json.dumps({"text": "a", f"key {number}": 1}) for number in range(5000)]
    refusal("rows.jsonl", "different keys", data=write("rows.jsonl", rows))
    refusal("rows.json", "different keys", data=write("rows.json", f"[{','.join(rows)}]"))


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.json"])
def test_a_column_whose_name_is_a_book(name):
    book = "a" * 100_000
    rows = (
        [f"{book},label", *lines(20)]
        if name == "rows.csv"
        else [json.dumps({book: text(n), "label": n % 2}) for n in range(20)]
    )
    message = refusal(name, "is the name of a column, and has 100000 characters", data=write(name, rows))
    assert len(message) < 300
    message = refusal(data=write("rows.json", json.dumps({book: [{}], "b": [{}]})))
    assert "several lists of rows" in message
    assert len(message) < 300


def test_a_file_that_promises_rows_it_has_not(monkeypatch):
    parquet.write_table(pa.table({"text": ["a"]}), "rows.parquet")
    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", lambda self, **_: iter(()))
    with pytest.raises(PippinError, match="promises 1 rows, and holds none"):
        read_table(Path("rows.parquet"))


def test_a_key_that_stands_twice_in_a_file_with_another_mistake():
    refusal("rows.json: the key 'a' stands twice", data=write("rows.json", '[{"a": 1, "a": 2}, {"b" 3}]'))


@pytest.fixture
def short_lines(monkeypatch):
    monkeypatch.setattr(text_files, "LONGEST_LINE", 1000)
    monkeypatch.setattr(text_files, "_BLOCK", 64)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.jsonl"])
def test_a_line_without_end(short_lines, name):
    row = '{"text": "' + "a" * 2000 if name == "rows.jsonl" else "a" * 2000
    first = objects() if name == "rows.jsonl" else ["text\tlabel".replace("\t", "," if name == "rows.csv" else "\t")]
    data = write(name, first, row)
    refusal(f"{name}, line {len(first) + 1}", "longer than", data=data)
    refusal(f"{name}, line 1", "longer than", data=write(name, row, end=""))


def test_a_quote_without_end(short_lines):
    """Lines of a quoted cell are short, and the cell is not."""
    rows = ["text,label", *lines(5), '"open', *["never closed, all the same"] * 100]
    refusal("rows.csv, line 7", "longer than", data=write("rows.csv", rows))


def test_json_of_one_line_may_be_long(short_lines):
    whole = [json.loads(row) for row in objects(100)]
    assert len(read_table(Path(write("rows.json", json.dumps(whole))))) == 100
    columns = {name: [row[name] for row in whole] for name in whole[0]}
    assert len(read_table(Path(write("rows.json", json.dumps(columns))))) == 100


def test_few_blocks_are_held_of_a_line_without_end(short_lines):
    given = 0

    def blocks():
        nonlocal given
        while True:
            given += 64
            yield "a" * 64

    with pytest.raises(PippinError, match="standard input, line 1 is longer than"):
        list(lines_of(blocks(), "standard input"))
    assert given < 2000


@pytest.mark.parametrize(
    "encoding",
    ["undefined", "idna", "punycode", "rot13", "hex", "zlib", "base64", "bz2", "uu", "quopri", "unicode_escape",
     "\udcff", "utf\0", "", " ", "x" * 100_000],
    ids=range(16),
)  # fmt: skip
@pytest.mark.parametrize("content", [b"text,label\na,b\n", b"\xff\xfe\x00", b"xn--a..b" * 99])
def test_what_is_no_encoding_of_text(encoding, content):
    Path("rows.csv").write_bytes(content)
    with pytest.raises(PippinError, match="there is no such encoding") as caught:
        open_table(Path("rows.csv"), encoding)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "encoding", ["utf-8", "UTF8", "latin-1", "cp1252", "utf-16", "utf-7", "shift_jis", "iso2022_jp", "mac-roman"]
)
def test_encodings_of_text(encoding):
    Path("rows.csv").write_bytes("text,label\na,b\n".encode(encoding))
    assert open_table(Path("rows.csv"), encoding).rows == 1
