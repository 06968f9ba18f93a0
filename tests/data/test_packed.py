"""Files that gzip packed: read as what is in them, and refused where they are damaged or without end."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from data_helpers import changed, lines, load, refusal, text, write

from pippin.data import packed
from pippin.data.kinds import is_rows, stem_of

ROWS = lines(40)


def pack(name: str, *parts: str | list[str], encoding: str = "utf-8") -> str:
    """Write lines as `name`.gz; returns that."""
    plain = Path(write(name, *parts, encoding=encoding))
    Path(f"{name}.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    return f"{name}.gz"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp949", "shift_jis", "gb18030", "cp1256"])
def test_every_encoding(encoding):
    words = {"cp949": "한국어 문장", "shift_jis": "日本の文", "gb18030": "中文句子", "cp1256": "جملة عربية"}
    first = words.get(encoding, "größe, 中文, 한국어")
    name = pack("train.csv", "text,label", changed(ROWS, 1, f'"{first}",pos'), encoding=encoding)
    data = load(data=name, encoding="utf-8" if encoding == "utf-8-sig" else encoding, validation_split=0)
    assert data.train.texts[0] == first
    assert data.name == "train"


def test_a_folder_of_packed_splits():
    pack("rows/train.csv", "text,label", ROWS)
    pack("rows/dev.jsonl", [json.dumps({"text": text(number), "label": "pos"}) for number in range(50, 60)])
    pack("rows/test.tsv", "text\tlabel", lines(6, start=90, separator="\t"))
    data = load(data="rows")
    assert (len(data.train), len(data.validation["validation"]), len(data.test["test"])) == (40, 10, 6)
    pack("shards/train-1.csv", "text,label", ROWS[:30])
    pack("shards/train-2.csv", "text,label", [*ROWS[30:], "no label,"])
    refusal("shards/train-2.csv.gz, row 11 (line 12): column 'label' is empty", data="shards")


def test_the_flags_for_each_split():
    train, other = pack("a.csv", "text,label", ROWS), pack("b.json", json.dumps([{"text": "x y", "label": "neg"}]))
    data = load(train_file=train, validation_file=other, test_file=other)
    assert data.validation["validation"].texts == data.test["test"].texts == ["x y"]


def test_mistakes_are_told_by_row_and_line():
    refusal(
        "a.csv.gz: the first line", "row 5 (line 6) has 3", data=pack("a.csv", "text,label", changed(ROWS, 5, "a,b,c"))
    )
    refusal("b.csv.gz, line 31: byte 0xE9 is not utf-8",
            data=pack("b.csv", "text,label", changed(ROWS, 30, "café,pos"), encoding="latin-1"))  # fmt: skip
    refusal("c.jsonl.gz, line 2: not valid JSON", data=pack("c.jsonl", ['{"text": "a"}', "{"]))
    refusal("d.csv.gz is empty", data=pack("d.csv", [""]))


def test_damaged_archives_are_one_message():
    whole = gzip.compress("".join(f"{line}\n" for line in ["text,label", *lines(4000)]).encode())
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    contents = {"cut": whole[:-900], "head": whole[:3], "bent": bytes(damaged), "plain": b"text,label\na,b\n",
                "more": whole + b"something else", "sum": whole[:-8] + b"\0" * 8}  # fmt: skip
    for name, content in contents.items():
        Path(f"{name}.csv.gz").write_bytes(content)
        refusal(f"{name}.csv.gz is not a readable gzip archive", "cut short", data=f"{name}.csv.gz")
    Path("none.csv.gz").write_bytes(b"")
    refusal("none.csv.gz is empty", data="none.csv.gz")
    Path("twice.csv.gz").write_bytes(gzip.compress(whole))
    refusal("twice.csv.gz is a gzip archive", data="twice.csv.gz")
    Path("mute.csv").write_bytes(whole)
    refusal("mute.csv is a gzip archive. Let its name end in .gz", data="mute.csv")


def test_an_archive_that_fills_the_memory(monkeypatch):
    monkeypatch.setattr(packed, "_ALWAYS_FINE", 2**20)
    Path("bomb.csv.gz").write_bytes(gzip.compress(b"text,label\n" + b"a text,pos\n" * 2**18))
    refusal("bomb.csv.gz unpacks to more than 200 times its size", "gunzip bomb.csv.gz", data="bomb.csv.gz")
    monkeypatch.setattr(packed, "_MOST_TIMES", 2000)
    assert "every row has the label" in refusal("bomb.csv.gz", data="bomb.csv.gz")


def test_names_of_packed_files():
    assert stem_of(Path("a/b.c.csv.gz")) == "b.c"
    assert stem_of(Path("b.c.csv")) == "b.c"
    assert [name for name in ("a.csv.gz", "a.TXT.GZ", "a.gz", "a.xlsx.gz", "a.tgz") if is_rows(Path(name))] == [
        "a.csv.gz",
        "a.TXT.GZ",
    ]
