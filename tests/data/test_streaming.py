"""Files read some rows at a time: the same rows, numbers and messages as in one go, and little in memory."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from data_helpers import changed, lines, text, write

from pippin.data import chunks, text_files
from pippin.data.chunks import in_chunks
from pippin.data.delimited import open_delimited
from pippin.data.tables import Table, open_table, read_table
from pippin.data.text_files import decode, lines_of
from pippin.errors import PippinError

COUNT = 40
KINDS = "csv tsv jsonl ndjson json parquet txt xlsx csv.gz tsv.gz jsonl.gz json.gz txt.gz".split()
TEXTS = [text(number) for number in range(COUNT)]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    """Chunks of seven rows, from blocks that end in the middle of everything."""
    monkeypatch.setattr(chunks, "MOST_ROWS", 7)
    monkeypatch.setattr(text_files, "_BLOCK", 11)


def parts_of(name: str, encoding: str = "utf-8") -> list[Table]:
    return list(open_table(Path(name), encoding).parts())


def joined(parts: list[Table], column: str) -> list:
    return [cell for part in parts for cell in part.columns[column]]


def write_kind(kind: str) -> str:
    objects = [{"text": words, "label": number % 2} for number, words in enumerate(TEXTS)]
    name = f"rows.{kind}"
    if kind.endswith(".gz"):
        packed = gzip.compress(Path(write_kind(kind.removesuffix(".gz"))).read_bytes())
        Path(name).write_bytes(packed)
        return name
    if kind == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in [["text", "label"], *([row["text"], row["label"]] for row in objects)]:
            book.active.append(row)
        book.save(name)
        return name
    if kind == "txt":
        return write(name, lines(COUNT, separator="\t"))
    if kind in ("csv", "tsv"):
        separator = "," if kind == "csv" else "\t"
        return write(name, f"text{separator}label", lines(COUNT, separator=separator))
    if kind in ("jsonl", "ndjson"):
        return write(name, [json.dumps(row) for row in objects])
    if kind == "json":
        return write(name, json.dumps(objects))
    parquet.write_table(pa.Table.from_pylist(objects), name, row_group_size=9)
    return name


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_the_whole(kind):
    name = write_kind(kind)
    stream = open_table(Path(name))
    assert (stream.rows, stream.names) == (COUNT, ("text", "label"))
    parts = list(stream.parts())
    assert [len(part) for part in parts] == [7, 7, 7, 7, 7, 5]
    assert joined(parts, "text") == TEXTS == read_table(Path(name)).columns["text"]
    places = [part.where(place) for part in parts for place in range(len(part))]
    whole = read_table(Path(name))
    assert places == [whole.where(place) for place in range(COUNT)]
    assert f"{name}, row 40" in places[-1]
    assert [len(part) for part in stream.parts()] == [7, 7, 7, 7, 7, 5], "they can be read again"


def test_few_blocks_are_read_ahead():
    """The first rows of a file are there long before its last."""
    text = "text,label\n" + "".join(line + "\n" for line in lines(COUNT))
    given = [0]

    def blocks() -> Iterator[str]:
        given[0] = 0
        for start in range(0, len(text), 11):
            given[0] += 11
            yield text[start : start + 11]

    stream = open_delimited(blocks, "rows.csv", ".csv")
    assert given[0] >= len(text), "looked through for mistakes"
    next(stream.parts())
    assert given[0] < len(text) / 4


def test_long_rows_make_short_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "MOST_CHARACTERS", 10)
    rows = ["a", "b" * 20, "c", "d" * 4, "e" * 5, "f"]
    assert list(in_chunks(rows, len)) == [(0, ["a", "b" * 20]), (2, ["c", "d" * 4, "e" * 5]), (5, ["f"])]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-32", "shift_jis", "cp949"])
def test_characters_that_lie_across_blocks(encoding):
    words = [f"{'の' * (number % 9)} 日{number}" for number in range(30)]
    name = write("rows.csv", "text", words, encoding=encoding)
    assert joined(parts_of(name, encoding), "text") == words
    assert decode(Path(name), encoding) == "".join(line + "\n" for line in ["text", *words])


def test_utf_16_without_a_mark():
    name = write("rows.csv", "text", TEXTS, encoding="utf-16-le")
    assert joined(parts_of(name, "utf-16"), "text") == TEXTS


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "with BOM"])
@pytest.mark.parametrize("bad", [b"\xe9", b"\xe3\x81", b"\xff"], ids=["latin", "half", "never"])
@pytest.mark.parametrize("row", [1, 20, 40])
def test_bad_byte_is_named_with_its_line(mark, bad, row):
    rows = [line.encode() for line in lines(COUNT)]
    rows[row - 1] = b"caf" + bad + b",pos"
    Path("rows.csv").write_bytes(mark + b"\n".join([b"text,label", *rows]))
    with pytest.raises(PippinError, match=f"rows.csv, line {row + 1}: byte 0x{bad[0]:02X} is not utf-8"):
        open_table(Path("rows.csv"))


def test_bad_byte_at_the_end_of_a_file():
    Path("rows.csv").write_bytes(b"text\na\nb\xe3")
    with pytest.raises(PippinError, match="line 3: byte 0xE3"):
        open_table(Path("rows.csv"))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_they_may(end):
    name = write("rows.csv", "text,label", lines(COUNT), end=end)
    assert joined(parts_of(name), "text") == TEXTS


def test_lines_are_cut_at_line_feeds_only():
    blocks = ["a\x0bb\u2028", "c\rd", "\n\n", "e", "f\ng"]
    assert list(lines_of(blocks, "rows.csv")) == ["a\x0bb\u2028c\rd\n", "\n", "ef\n", "g"]


def test_rows_over_several_lines_in_later_chunks():
    rows = changed(lines(COUNT), 30, '"one\ntwo\n\nthree",neg')
    parts = parts_of(write("rows.csv", "text,label", rows))
    assert joined(parts, "text")[29] == "one\ntwo\n\nthree"
    assert parts[-1].row_name(4) == "row 40 (line 44)"


def test_blank_lines_of_one_column_in_later_chunks():
    parts = parts_of(write("rows.csv", "text", TEXTS[:20], "", "", TEXTS[20:], "", ""))
    assert joined(parts, "text") == [*TEXTS[:20], "", "", *TEXTS[20:]]


def test_keys_that_come_late_are_columns_of_every_part():
    objects = [{"text": words} for words in TEXTS] + [{"text": "last", "note": "x"}]
    parts = parts_of(write("rows.jsonl", [json.dumps(row) for row in objects]))
    assert all(list(part.columns) == ["text", "note"] for part in parts)
    assert joined(parts, "note") == [None] * COUNT + ["x"]


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("rows.csv", changed(lines(COUNT), 38, "one,two,three"), r"row 38 \(line 39\) has 3: 'one,two,three'"),
        ("rows.csv", changed(lines(COUNT), 38, '"open,pos'), "line 39: a double quote is opened"),
        ("rows.csv", changed(lines(COUNT), 38, "text,label"), r"row 38 \(line 39\) repeats the first line,"),
        ("rows.csv", changed(changed(lines(COUNT), 37, '"open,pos'), 38, 'shut",neg'), "line 38: a double quote opens"),
        ("rows.jsonl", ['{"text": "a"}'] * 38 + ['{"text": a}'], "line 40: not valid JSON"),
        ("rows.jsonl", ['{"text": "a"}'] * 38 + ["7"], r"row 40 \(line 40\): expected an object, found 7"),
    ],
)
def test_late_mistakes_are_found_when_a_file_is_opened(name, rows, message):
    first = '{"text": "first"}' if name.endswith("jsonl") else "text,label"
    with pytest.raises(PippinError, match=message):
        open_table(Path(write(name, first, rows)))


def test_damaged_text_in_a_later_part_of_a_parquet_file(monkeypatch):
    monkeypatch.setattr("pippin.data.parquet_files._ROWS_AT_A_TIME", 4)
    path = Path("rows.parquet")
    parquet.write_table(pa.table({"text": TEXTS}), path, compression="none", use_dictionary=False)
    path.write_bytes(path.read_bytes().replace(TEXTS[30].encode(), b"\xff" + TEXTS[30].encode()[1:], 1))
    parts = open_table(path).parts()
    assert next(parts).columns["text"] == TEXTS[:7]
    with pytest.raises(PippinError, match="row 31, column 'text': the text is not UTF-8"):
        list(parts)
