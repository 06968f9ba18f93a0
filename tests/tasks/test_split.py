"""Rows held out for validation: seeded, stratified, nothing that training has too, no class emptied."""

from __future__ import annotations

import numpy as np
import pytest
from data_helpers import lines, load, refusal, text, write

from pippin.data.examples import Examples
from pippin.tasks.split import hold_out


def examples(*sizes: int, texts: list[str] | None = None) -> Examples:
    """Classes of these sizes, shuffled."""
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))
    texts = texts or [text(number) for number in range(len(labels))]
    return Examples(texts, None, labels, list(range(1, len(labels) + 1)), "x.csv")


def held_out(rows: Examples, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return hold_out(rows, share, seed, rows.labels)


def test_parts_are_whole_disjoint_and_in_file_order():
    kept, held = held_out(examples(70, 30), 0.1, seed=1)
    assert sorted([*kept, *held]) == list(range(100))
    assert len(held) == 10
    assert list(kept) == sorted(kept)
    assert list(held) == sorted(held)


def test_same_seed_same_rows_other_seed_other_rows():
    rows = examples(70, 30)
    first, again, other = (held_out(rows, 0.1, seed)[1].tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("sizes", [(50, 50), (90, 10), (500, 300, 150, 50), (997, 3), (5,) * 40])
@pytest.mark.parametrize("share", [0.05, 0.1, 0.3, 0.5])
def test_each_class_gives_its_share(sizes, share):
    rows = examples(*sizes)
    _, held = held_out(rows, share, seed=3)
    counts = np.bincount(rows.labels[held], minlength=len(sizes))
    assert np.abs(counts - share * np.array(sizes)).max() <= 1
    assert abs(len(held) - share * len(rows)) <= 1


@pytest.mark.parametrize("sizes", [(1, 1, 1, 97), (1,) * 50 + (10, 40), (2,) * 30, (1, 1, 20)])
def test_every_class_stays_in_training(sizes):
    rows = examples(*sizes)
    kept, held = held_out(rows, 0.3, seed=3)
    assert set(rows.labels[kept]) == set(range(len(sizes)))
    assert len(held) > 0
    left = np.bincount(rows.labels[kept], minlength=len(sizes))
    assert (left >= np.floor(0.7 * np.array(sizes)) - 1).all(), "rare classes must not make the next one pay"


def test_nothing_to_hold_out_where_each_class_has_one_row():
    kept, held = held_out(examples(*[1] * 15), 0.1, seed=3)
    assert len(held) == 0
    assert len(kept) == 15
    path = write("train.csv", "text,label", lines(15, tuple("abcdefghijklmno")))
    refusal("train.csv, column 'label': each class has a single row", "--validation_split 0", data=path)


def test_at_least_one_and_at_most_5000_rows():
    assert len(held_out(examples(6, 6), 0.001, seed=3)[1]) == 1
    many = examples(30_000, 30_000, texts=[str(number) for number in range(60_000)])
    assert len(held_out(many, 0.5, seed=3)[1]) == 5000


def test_text_that_stands_twice_stays_in_training():
    """Otherwise the score on the held-out copy would flatter."""
    texts = [text(number % 80) for number in range(100)]
    rows = examples(60, 40, texts=texts)
    for seed in range(5):
        kept, held = held_out(rows, 0.2, seed)
        assert len(held) == 20
        assert not {texts[place] for place in kept} & {texts[place] for place in held}


def test_file_of_copies_is_split_all_the_same_and_said():
    rows = lines(20)
    data = load(data=write("train.csv", "text,label", rows, rows))
    assert len(data.validation["validation"]) == 4
    assert any("the score" in warning for warning in data.warnings)


def test_numbers_are_split_at_random():
    rows = examples(100)
    numbers = Examples(rows.texts, None, np.linspace(0, 5, 100, dtype=np.float32), rows.rows, "x.csv")
    kept, held = hold_out(numbers, 0.1, 3, None)
    assert (len(kept), len(held)) == (90, 10)


def test_share_and_seed_come_from_the_recipe():
    path = write("train.csv", "text,label", lines(100))
    assert len(load(data=path).validation["validation"]) == 10
    assert len(load(data=path, validation_split=0.3).validation["validation"]) == 30
    assert load(data=path, validation_split=0).validation == {}
    first, again, other = (load(data=path, **seed).train.rows for seed in ({}, {"data_seed": 42}, {"data_seed": 7}))
    assert first == again
    assert first != other


def test_each_class_gives_the_rows_that_looking_at_it_alone_would():
    """Thousands of classes are cut out of one sorted list, not looked for one by one."""
    rows = examples(*np.random.default_rng(5).integers(1, 9, 300).tolist())
    _, held = held_out(rows, 0.3, seed=2)
    order = np.random.default_rng(2).permutation(len(rows))
    for label in range(300):
        members = [place for place in order if rows.labels[place] == label]
        chosen = [place for place in held if rows.labels[place] == label]
        assert sorted(members[: len(chosen)]) == chosen
    assert abs(len(held) - 0.3 * len(rows)) < 60
