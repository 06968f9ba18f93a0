"""What is kept of a large file: equal cells once, no column that nobody asked for, few texts at the tokenizer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from data_helpers import lines, text, write

from pippin.commands.planning import plan_job
from pippin.data import encoding
from pippin.data.encoding import encode
from pippin.data.examples import Examples
from pippin.data.tables import read_table
from pippin.recipe.reading import recipe_from
from pippin.tasks.overlap import check_overlap
from pippin.tasks.sequence.dataset import prepare
from pippin.tasks.sequence.reader import Reader
from pippin.tasks.sequence.sources import find_source
from pippin.tasks.split import hold_out

COUNT = 200


def test_labels_are_kept_once_each(monkeypatch):
    monkeypatch.setattr("pippin.data.chunks.MOST_ROWS", 16)
    table = read_table(Path(write("rows.csv", "text,label", lines(COUNT))))
    assert len({id(cell) for cell in table.columns["label"]}) == 2
    assert table.columns["label"][:2] == ["pos", "neg"]
    assert len({id(cell) for cell in table.columns["text"]}) == COUNT


def test_columns_that_are_not_used_are_let_go(monkeypatch):
    seen = []
    real = Reader.read
    monkeypatch.setattr(
        Reader, "read", lambda self, table, *more: seen.append(list(table.columns)) or real(self, table, *more)
    )
    rows = [f"{number},{line},x{number}" for number, line in enumerate(lines(COUNT))]
    recipe = recipe_from({"data": write("rows.csv", "id,text,label,note", rows)}).recipe
    prepare(find_source(recipe), recipe)
    assert seen == [["text", "label"]]


def test_texts_of_training_are_let_go_once_they_are_tokens(tiny_model, screen):
    recipe = recipe_from(
        {"data": write("rows.csv", "text,label", lines(COUNT)), "model_name_or_path": str(tiny_model)}
    ).recipe
    job = plan_job(recipe, screen()[0])
    assert set(job.data.train.texts) == {""}
    assert len(job.data.train) == len(job.rows.train) == 180
    assert job.data.train.take(np.array([3, 5])).rows.tolist() == [job.data.train.rows[3], job.data.train.rows[5]]
    assert "" not in job.data.validation["validation"].texts, "mistakes among these are shown"


@pytest.mark.parametrize("pairs", [False, True])
def test_the_tokenizer_gets_few_long_texts_at_a_time(tiny_model, monkeypatch, pairs):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    monkeypatch.setattr(encoding, "_CHARACTERS", 1000)
    sizes = []

    class Watched:
        def __getattr__(self, name):
            return getattr(tokenizer, name)

        def __call__(self, texts, seconds, **settings):
            sizes.append(sum(map(len, texts)) + sum(map(len, seconds or [])))
            return tokenizer(texts, seconds, **settings)

    texts = [text(number) * (1 + number % 9) for number in range(60)]
    examples = Examples(texts, texts[::-1] if pairs else None, None, [], "")
    portions = encode(examples, Watched(), 32)
    assert max(sizes) < 1000 + 2 * max(map(len, texts))
    assert len(sizes) > 5
    monkeypatch.undo()
    whole = encode(examples, tokenizer, 32)
    for name in ("tokens", "token_type_ids", "offsets", "cut"):
        np.testing.assert_array_equal(getattr(portions, name), getattr(whole, name))


def test_the_fingerprint_of_a_run_stays_what_it_was():
    """It is written down in every run.json: another one would keep the run from going on."""
    tokens, offsets = np.arange(7, dtype=np.int32), np.array([0, 3, 7])
    rows = encoding.Encoded(tokens, np.array([0, 0, 1, 0, 0, 1, 1], np.uint8), offsets, np.array([1, 0]))
    splits = encoding.EncodedSplits(rows, {"validation": rows}, {})
    assert splits.fingerprint() == "5e416e852befc8f3057bb25e6dcd828584b82f18fe9710e4995944d6de1a7097"


def many(count: int = 300, kinds: int = 40) -> Examples:
    draw = np.random.default_rng(3)
    texts = [text(int(number)) for number in draw.integers(0, 200, count)]
    return Examples(texts, None, draw.integers(0, kinds, count), range(1, count + 1), "x.csv")


@pytest.mark.parametrize("stratify", [True, False])
def test_texts_are_told_apart_though_their_hashes_are_equal(monkeypatch, stratify):
    rows, others = many(), {"validation": many(50)}
    strata = rows.labels if stratify else None
    expected = hold_out(rows, 0.2, 1, strata), check_overlap(rows, others, may_stop=False)
    monkeypatch.setattr(Examples, "hashes", lambda self: np.zeros(len(self), np.int64))
    found = hold_out(rows, 0.2, 1, strata), check_overlap(rows, others, may_stop=False)
    np.testing.assert_array_equal(found[0][0], expected[0][0])
    np.testing.assert_array_equal(found[0][1], expected[0][1])
    assert found[1] == expected[1] != []
