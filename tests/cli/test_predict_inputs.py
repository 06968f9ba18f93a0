"""`pippin train` and `pippin predict` on lines, packed files and workbooks, as people keep them."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest

from helpers import make_rows


def labelled(out: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(out)))


def test_lines_packed_files_and_workbooks(run_cli, train):
    openpyxl = pytest.importorskip("openpyxl")
    rows = make_rows(60)
    Path("words.txt").write_text("".join(f"__label__{row['label']} {row['text']}\n" for row in rows))
    out, _ = train("words.txt", folder="run")
    assert "words.txt: each line is read as __label__LABEL TEXT." in " ".join(out.split())

    texts = [rows[0]["text"], "", "a tab\there", "한국어 문장"]
    Path("new.txt").write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    code, out, err = run_cli("predict", "run", "--file", "new.txt")
    assert code == 0, err
    assert [row["text"] for row in labelled(out)] == texts
    assert [bool(row["label"]) for row in labelled(out)] == [True, False, True, True]
    assert "new.txt: each line is read as one text." in err
    assert "each line" not in run_cli("predict", "run", "--file", "new.txt", "--quiet")[2]

    code, out, err = run_cli("predict", "run", "--file", "words.txt")
    assert code == 0, err
    assert [(row["text"], row["label"]) for row in labelled(out)] == [(row["text"], row["label"]) for row in rows]
    assert all(row["predicted_label"] for row in labelled(out))

    Path("new.csv.gz").write_bytes(gzip.compress(("text,id\n" + "a cat,1\nbread,2\n").encode("utf-16")))
    code, out, err = run_cli("predict", "run", "--file", "new.csv.gz", "--encoding", "utf-16")
    assert code == 0, err
    assert [(row["text"], row["id"]) for row in labelled(out)] == [("a cat", "1"), ("bread", "2")]
    Path("cut.csv.gz").write_bytes(Path("new.csv.gz").read_bytes()[:-6])
    code, out, err = run_cli("predict", "run", "--file", "cut.csv.gz", "--output", "out.csv")
    assert (code, out, Path("out.csv").exists()) == (2, "", False)
    assert err.startswith("pippin: cut.csv.gz is not a readable gzip archive")
    assert len(err.splitlines()) == 1

    book = openpyxl.Workbook()
    for row in (["text", "count"], ["a cat", 1], [None, 2], ["bread", 3]):
        book.active.append(row)
    book.create_sheet("Notes")
    book.save("new.xlsx")
    code, out, err = run_cli("predict", "run", "--file", "new.xlsx")
    assert code == 0, err
    assert [(row["text"], row["count"], bool(row["label"])) for row in labelled(out)] == [
        ("a cat", "1", True),
        ("", "2", False),
        ("bread", "3", True),
    ]
    assert "new.xlsx has 2 sheets; only the first, Sheet, is read." in err
