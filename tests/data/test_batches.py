"""Batches: every row once, in a seeded order, padded as little as the plan allows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pippin.data.batches import (
    WINDOW,
    evaluation_order,
    evaluation_shapes,
    fixed_order,
    padded_lengths,
    plan_lengths,
    spread_lengths,
    training_order,
)

STRATEGIES = ["windows", "random", "sequential"]


def some_lengths(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(3, 60, count)


def as_lists(batches: list[np.ndarray]) -> list[list[int]]:
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("count", [1, 7, 8, 801, 1003])
def test_each_row_once_and_the_short_batch_last(strategy, count):
    batches = training_order(some_lengths(count), 8, strategy, seed=1, epoch=0)
    assert sorted(np.concatenate(batches).tolist()) == list(range(count))
    assert [len(batch) for batch in batches[:-1]] == [8] * (len(batches) - 1)
    assert len(batches[-1]) == (count % 8 or 8)


@pytest.mark.parametrize("strategy", ["windows", "random"])
def test_order_depends_on_seed_and_epoch_only(strategy):
    lengths = some_lengths(500)
    first = as_lists(training_order(lengths, 8, strategy, seed=1, epoch=0))
    assert as_lists(training_order(lengths, 8, strategy, seed=1, epoch=0)) == first
    assert as_lists(training_order(lengths, 8, strategy, seed=2, epoch=0)) != first
    assert as_lists(training_order(lengths, 8, strategy, seed=1, epoch=1)) != first


def test_sequential_is_file_order_in_every_epoch():
    lengths = some_lengths(50)
    for epoch in (0, 3):
        assert np.concatenate(training_order(lengths, 8, "sequential", 1, epoch)).tolist() == list(range(50))


def test_windows_pad_less_than_random_and_still_mix():
    lengths = some_lengths(4000)

    def padded(batches: list[np.ndarray]) -> int:
        return sum(len(batch) * lengths[batch].max() for batch in batches)

    windows = training_order(lengths, 16, "windows", seed=1, epoch=0)
    assert padded(windows) < 1.1 * lengths.sum()
    assert padded(windows) < 0.7 * padded(training_order(lengths, 16, "random", seed=1, epoch=0))
    longest = [lengths[batch].max() for batch in windows[:WINDOW]]
    assert longest != sorted(longest), "short and long batches must alternate"
    together = {frozenset(batch.tolist()) for batch in windows}
    later = {frozenset(batch.tolist()) for batch in training_order(lengths, 16, "windows", seed=1, epoch=1)}
    assert not together & later, "the same rows must not meet in every epoch"


@pytest.mark.parametrize(("most_rows", "budget"), [(1, 10_000), (16, 10_000), (1000, 200), (7, 64), (8, 1)])
def test_evaluation_takes_every_row_once_within_the_budget(most_rows, budget):
    lengths = some_lengths(333)
    batches = list(evaluation_order(lengths, most_rows, budget))
    assert sorted(np.concatenate(batches).tolist()) == list(range(333))
    for batch in batches:
        assert len(batch) <= most_rows
        assert len(batch) == 1 or len(batch) * lengths[batch].max() <= budget


def test_evaluation_fills_its_batches():
    batches = list(evaluation_order(np.full(100, 10), 1000, 200))
    assert [len(batch) for batch in batches] == [20] * 5


def some_job(seed: int) -> tuple[np.ndarray, tuple[int, ...], int, int]:
    """Lengths, pad lengths, most rows and token budget."""
    draw = np.random.default_rng(seed)
    lengths = np.clip(draw.lognormal(draw.uniform(1, 5), 0.8, draw.integers(1, 700)), 1, 512).astype(int)
    planned = plan_lengths(lengths, draw.integers(1, 9)) if seed % 2 else spread_lengths(512, draw.integers(1, 9))
    return lengths, planned, int(draw.choice([1, 7, 64, 256])), int(draw.choice([1, 300, 2048, 8192]))


@pytest.mark.parametrize("seed", range(40))
def test_fixed_shapes_hold_every_row_once_within_the_budget(seed):
    lengths, planned, most_rows, budget = some_job(seed)
    shapes = evaluation_shapes(planned, most_rows, budget)
    batches = list(fixed_order(lengths, planned, most_rows, budget))
    assert sorted(np.concatenate([rows for rows, _ in batches]).tolist()) == list(range(len(lengths)))
    for rows, size in batches:
        width = int(padded_lengths(lengths[rows].max(), planned))
        assert size in shapes[width]
        assert size <= most_rows
        assert size == 1 or size * width <= budget
    assert all(len(rows) == size for rows, size in batches[:-1]), "only the last batch is filled up"
    assert len(batches[-1][0]) <= batches[-1][1]
    longest = [lengths[rows].max() for rows, _ in batches]
    assert longest == sorted(longest, reverse=True)


@pytest.mark.parametrize("most_rows", [1, 2, 20, 256, 5000])
def test_there_are_at_most_three_shapes_for_each_length(most_rows):
    for width, sizes in evaluation_shapes(range(1, 600), most_rows, 8192).items():
        assert 1 <= len(sizes) <= 3
        assert sizes[0] == 1
        assert sizes[-1] == min(most_rows, 8192 // width)


@pytest.mark.parametrize("seed", range(10))
def test_fixed_shapes_waste_little(seed):
    draw = np.random.default_rng(seed)
    lengths = np.clip(draw.lognormal(draw.uniform(2.5, 5), 0.6, 3000), 4, 512).astype(int)
    batches = list(fixed_order(lengths, plan_lengths(lengths, 8), 256, 8192))
    padded = sum(size * lengths[rows].max() for rows, size in batches)
    assert padded < 1.25 * lengths.sum()
    assert len(batches) < lengths.sum() / 8192 * 1.25 + 20


@pytest.mark.parametrize(("count", "sizes"), [(1, [1]), (3, [1] * 3), (5, [8]), (8, [8]), (9, [8, 1]), (70, [64, 8])])
def test_a_small_request_makes_small_batches(count, sizes):
    assert sorted((size for _, size in fixed_order(np.full(count, 100), (128,), 256, 8192)), reverse=True) == sizes


def test_padded_lengths():
    assert padded_lengths(np.array([1, 8, 9, 20, 21]), (8, 20)).tolist() == [8, 8, 20, 20, 21]
    assert padded_lengths(np.array([3, 5]), ()).tolist() == [3, 5]


@pytest.mark.parametrize("longest", [1, 15, 16, 17, 20, 64, 127, 512, 8192])
@pytest.mark.parametrize("most", [1, 2, 8])
def test_lengths_for_unknown_texts(longest, most):
    spread = spread_lengths(longest, most)
    assert spread[-1] == longest
    assert 1 <= len(spread) <= most
    assert spread == tuple(sorted(set(spread)))
    assert spread_lengths(longest, None) == ()


@pytest.mark.parametrize(("batch", "micro"), [(8, 8), (32, 8), (8, 3)])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_training_has_at_most_three_numbers_of_rows_whatever_the_epoch(strategy, batch, micro):
    for count in (3, 64, 65, 1003):
        seen = {
            len(rows[start : start + micro])
            for epoch in range(5)
            for rows in training_order(some_lengths(count), batch, strategy, 1, epoch)
            for start in range(0, len(rows), micro)
        }
        assert seen <= {micro, batch % micro, count % batch % micro}


def waste(lengths: np.ndarray, planned: tuple[int, ...]) -> int:
    return sum(min(width for width in planned if width >= length) - length for length in lengths)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_planned_lengths_waste_the_least(seed, most):
    draw = np.random.default_rng(seed)
    lengths = draw.choice(draw.integers(1, 100, 9), size=draw.integers(1, 40))
    planned = plan_lengths(lengths, most)
    distinct = sorted(set(lengths.tolist()))
    best = min(
        waste(lengths, (*others, distinct[-1]))
        for count in range(min(most, len(distinct)))
        for others in combinations(distinct[:-1], count)
    )
    assert waste(lengths, planned) == best
    assert len(planned) <= most
    assert planned[-1] == lengths.max()
    assert list(planned) == sorted(set(planned))


def test_very_many_lengths_are_planned_roughly():
    planned = plan_lengths(np.arange(1, 4004), 4)
    assert planned == pytest.approx((1001, 2002, 3003, 4003), rel=0.01)
    assert planned[-1] == 4003
    assert all(length % 8 == 0 for length in planned[:-1]), "one in eight is tried"


def test_lengths_without_limit_are_all_planned():
    assert plan_lengths(np.array([5, 3, 5, 9]), None) == (3, 5, 9)
