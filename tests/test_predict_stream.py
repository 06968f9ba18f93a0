"""Standard input, and files of any size, chunk by chunk."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import labels_of, make_rows, staged


@pytest.fixture
def type_in(monkeypatch) -> Callable[[bytes], None]:
    """Bytes as standard input."""
    return lambda raw: monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"))


def test_standard_input_keeps_blank_lines(run_cli, trained, type_in, monkeypatch):
    type_in(b"\xef\xbb\xbfthe soup\r\n\r\n \nthe wolf\n\n")
    code, out, err = run_cli("predict", trained)
    assert code == 0, err
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["text"] for row in rows] == ["the soup", "", " ", "the wolf", ""]
    assert [row["label"] for row in rows] == ["food", "", "", "animal", ""]
    assert [row["score"] == "" for row in rows] == [False, True, True, False, True]
    assert "3 of 5 rows, the first in standard input, row 2" in err
    monkeypatch.setattr("sys.stdin", io.StringIO("the soup\n\nthe wolf\n"))
    assert labels_of(run_cli("predict", trained)[1]) == ["food", "", "animal"]


def test_standard_input_in_another_encoding(run_cli, trained, type_in):
    raw = "the soup\nthe caf\xe9 dog\n".encode("latin-1")
    type_in(raw)
    code, out, err = run_cli("predict", trained)
    assert (code, out) == (2, "")
    assert "standard input, line 2: byte 0xE9 is not utf-8" in err
    type_in(raw)
    code, out, _ = run_cli("predict", trained, "--encoding", "latin-1")
    assert code == 0
    assert "the caf\xe9 dog,animal" in out
    type_in(raw)
    assert "no such encoding" in run_cli("predict", trained, "--encoding", "latin-x")[2]


@pytest.mark.parametrize("raw", [b"", None])
def test_no_standard_input(run_cli, trained, type_in, monkeypatch, raw):
    if raw is None:
        monkeypatch.setattr("sys.stdin", None)
    else:
        type_in(raw)
    code, _, err = run_cli("predict", trained)
    assert code == 2
    assert "standard input is empty" in err


@pytest.fixture
def small_chunks(monkeypatch) -> int:
    """Seven rows at a time."""
    monkeypatch.setattr("pippin.data.chunks.MOST_ROWS", 7)
    return 7


@pytest.mark.parametrize("source", ["csv", "tsv", "jsonl", "json", "parquet"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_chunks_are_answered_as_the_whole(run_cli, trained, write_rows, monkeypatch, source, suffix):
    rows = [{"id": n, "text": row["text"] if n % 5 else ""} for n, row in enumerate(make_rows(40, seed=3))]
    path = write_rows(f"new.{source}", rows)
    assert run_cli("predict", trained, "--file", path, "--output", f"whole.{suffix}")[0] == 0
    monkeypatch.setattr("pippin.data.chunks.MOST_ROWS", 7)
    code, _, err = run_cli("predict", trained, "--file", path, "--output", f"chunks.{suffix}")
    assert code == 0, err
    assert Path(f"chunks.{suffix}").read_bytes() == Path(f"whole.{suffix}").read_bytes()
    assert "8 of 40 rows, the first in" in err
    assert "row 1" in err


class CountedInput(io.BytesIO):
    """Standard input that knows how far it was read."""

    def __init__(self, raw: bytes):
        super().__init__(raw)
        self.buffer = self


def test_standard_input_flows(run_cli, trained, small_chunks, monkeypatch):
    """Rows are written while most of the input is still to be read."""
    monkeypatch.setattr("pippin.data.text_files._BLOCK", 16)
    texts = [row["text"] for row in make_rows(210, seed=4)]
    source = CountedInput("\n".join(texts).encode())
    size, seen = len(source.getvalue()), []
    monkeypatch.setattr("sys.stdin", source)
    from pippin.runs.predictions import LabelledWriter

    write = LabelledWriter.write

    def watched(self, columns, answers):
        seen.append(source.tell() / size)
        write(self, columns, answers)

    monkeypatch.setattr(LabelledWriter, "write", watched)
    code, out, err = run_cli("predict", trained)
    assert code == 0, err
    assert [row["text"] for row in csv.DictReader(io.StringIO(out))] == texts
    assert len(seen) == 210 / small_chunks
    assert all(share < (number + 4) / len(seen) for number, share in enumerate(seen))


def test_line_ends_of_standard_input_across_blocks(run_cli, trained, type_in, monkeypatch):
    for block in (1, 2, 3, 5):
        monkeypatch.setattr("pippin.data.text_files._BLOCK", block)
        type_in("the café\r\n\rthe wolf\n\r\n".encode())
        _, out, _ = run_cli("predict", trained)
        assert [row["text"] for row in csv.DictReader(io.StringIO(out))] == ["the café", "", "the wolf", ""]


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("new.jsonl", '{"text": ["a"]}', r"row 39 (line 39): column 'text' is ['a'], not a text"),
        ("new.jsonl", '{"text": "\\ud83d"}', "row 39 (line 39): column 'text' holds half of a character"),
        ("new.jsonl", '{"text": ', "line 39: not valid JSON"),
        ("new.csv", "one,two", "row 38 (line 39) has 2: 'one,two'"),
    ],
)
@pytest.mark.usefixtures("small_chunks")
def test_a_late_mistake_leaves_the_old_output(run_cli, trained, name, line, message):
    rows = [row["text"] for row in make_rows(37)]
    lines = ["text", *rows] if name.endswith("csv") else [json.dumps({"text": text}) for text in ["first", *rows]]
    Path(name).write_text("\n".join([*lines, line]) + "\n")
    Path("out.csv").write_text("as it was")
    code, out, err = run_cli("predict", trained, "--file", name, "--output", "out.csv", "--overwrite")
    assert (code, out) == (2, "")
    assert f"{name}" in err
    assert message in err
    assert Path("out.csv").read_text() == "as it was"
    assert not staged()


def test_a_chunk_without_any_text(run_cli, trained, type_in, small_chunks):
    type_in(b"the wolf\n" + b"\n" * 3 * small_chunks + b"the soup\n")
    code, out, err = run_cli("predict", trained)
    assert code == 0, err
    assert labels_of(out) == ["animal", *[""] * 3 * small_chunks, "food"]
