"""The description of the rows in run.json."""

from __future__ import annotations

from pathlib import Path

import pytest

from pippin.runs.record import read_record


@pytest.mark.parametrize("padded", [True, False])
def test_classes_lengths_and_padding_are_counted(train, write_rows, padded):
    rows = [{"text": "cat " * (1 + place % 30), "label": "many" if place % 3 else "few"} for place in range(60)]
    other = [{"text": f"dog {place}", "label": "few"} for place in range(3)]
    words = ["--pad_to_max_length"] if padded else []
    train(write_rows("rows.csv", rows), "--validation_file", write_rows("other.csv", other), *words)
    card = read_record(Path("run")).data
    assert card.classes == ("few", "many")
    (part,) = card.parts
    assert (part.bars.names, part.bars.counts) == (("many", "few"), (40, 20))
    assert sum(each.rows for each in card.lengths) == 60
    assert card.lengths[0].shortest == 3, "two marks and a word"
    assert card.lengths[-1].longest >= 32
    assert (card.padding > 0.5) == padded
