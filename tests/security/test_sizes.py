"""Small files that unfold to much, and huge cells: refused or bounded, with a message."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest

from helpers import make_rows
from pippin.data import packed
from pippin.data.tables import read_table
from pippin.errors import PippinError

HUGE = 10_000_000


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.gz", "rows.zip"])
def test_archives_under_other_names_are_refused_unopened(run_cli, name):
    Path(name).write_bytes(gzip.compress(b"text,label\n" + b"a" * HUGE))
    code, _, err = run_cli("train", name)
    assert code == 2
    assert "npack" in err or "Let its name end in .gz" in err


def write_folded(path: Path, rows: int, size: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    texts = pa.array(["a" * size] * rows)
    parquet.write_table(pa.table({"text": texts, "label": list(range(rows))}), path, compression="zstd")


def test_parquet_that_unfolds_to_much(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    write_folded(path, rows=2000, size=10_000)
    assert path.stat().st_size * 200 < 2000 * 10_000
    assert len(read_table(path)) == 2000, "20 MB harm nobody"
    monkeypatch.setattr(packed, "_ALWAYS_FINE", 2**20)
    with pytest.raises(PippinError, match="unpacks to more than 200 times its size"):
        read_table(path)


def test_rows_are_unfolded_few_at_a_time(tmp_path, monkeypatch):
    """The limit is seen long before all is in memory."""
    import pyarrow.parquet as parquet

    path = tmp_path / "rows.parquet"
    write_folded(path, rows=2000, size=10_000)
    seen = []
    real = parquet.ParquetFile.iter_batches

    def counted(self, **settings):
        for batch in real(self, **settings):
            seen.append(len(batch))
            yield batch

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", counted)
    monkeypatch.setattr(packed, "_ALWAYS_FINE", 2**20)
    with pytest.raises(PippinError, match="unpacks to more"):
        read_table(path)
    assert sum(seen) <= 512


class _Endless(io.RawIOBase):
    """Standard input that never ends a line: `yes | tr -d '\\n' | pippin predict run`."""

    given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, place) -> int:
        place[:] = b"y" * len(place)
        self.given += len(place)
        return len(place)


def test_a_line_without_end_on_standard_input(run_cli, monkeypatch):
    monkeypatch.setattr("pippin.data.text_files.LONGEST_LINE", 2**20)
    source = _Endless()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(source)))
    code, out, err = run_cli("predict", "nothing")
    assert (code, out) == (2, "")
    assert "standard input, line 1 is longer than 1,048,576 characters" in err
    assert source.given < 2**22


def test_a_huge_cell_is_cut_for_the_model(run_cli, tiny_model, tmp_path):
    rows = [*make_rows(24), {"text": "dog " * (HUGE // 4), "label": "animal"}]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, _, err = run_cli("train", path, "--model_name_or_path", tiny_model, "--max_steps", 1, "--output_dir", "run")
    assert code == 0, err
    code, _, err = run_cli("predict", "run", "--file", path, "--output", "out.csv")
    assert code == 0, err
    csv.field_size_limit(2**31 - 1)
    with open("out.csv", newline="") as file:
        assert len(list(csv.DictReader(file))[-1]["text"]) == HUGE, "the row comes back whole"
