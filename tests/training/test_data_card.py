"""The description of the rows in run.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pippin.training.run import read_run


@pytest.mark.parametrize("padded", [True, False])
def test_classes_lengths_and_padding_are_counted(train, write_rows, padded):
    rows = [{"text": "cat " * (1 + place % 30), "label": "many" if place % 3 else "few"} for place in range(60)]
    other = [{"text": f"dog {place}", "label": "few"} for place in range(3)]
    words = ["--pad_to_max_length"] if padded else []
    train(write_rows("rows.csv", rows), "--validation_file", write_rows("other.csv", other), *words)
    card = read_run(Path("run")).data
    assert dict(zip(card.classes, card.class_rows, strict=True)) == {"few": 20, "many": 40}
    assert sum(each.rows for each in card.lengths) == 60
    assert card.lengths[0].shortest == 3, "two marks and a word"
    assert card.lengths[-1].longest >= 32
    assert (card.padding > 0.5) == padded


def test_records_of_earlier_releases_are_still_read(train, word_file):
    train(word_file)
    path = Path("run", "run.json")
    record = json.loads(path.read_text())
    for name in ("class_rows", "lengths", "cut", "padding"):
        del record["data"][name]
    path.write_text(json.dumps(record))
    assert read_run(Path("run")).data.lengths == ()
