"""Slow runs are told of, once; runs whose batches merely differ are not."""

from __future__ import annotations

import random

import pytest

from pippin.engine.pace import Pace


class Run:
    """Steps at a given speed, without a clock."""

    def __init__(self) -> None:
        self.pace, self.seconds = Pace(), 0.0

    def go(self, steps: int, seconds: float = 0.1, tokens: int = 1000) -> list[float]:
        """The shares that were told over so many steps."""
        told = []
        for _ in range(steps):
            self.seconds += seconds
            share = self.pace.add(tokens, self.seconds)
            if share is not None:
                told.append(share)
        return told


def test_steady_run():
    assert Run().go(5000) == []


def test_slow_run_is_told_once():
    run = Run()
    assert run.go(500) == []
    assert run.go(5000, seconds=0.1 / 0.62) == [pytest.approx(0.62, abs=0.02)]


def test_much_slower_is_told_again():
    run = Run()
    run.go(500)
    assert len(run.go(3000, seconds=0.1 / 0.62)) == 1
    assert run.go(3000, seconds=0.1 / 0.55) == [], "not much slower than what was told"
    assert run.go(3000, seconds=0.1 / 0.3) == [pytest.approx(0.3, abs=0.02)]


def test_a_little_slower_is_not_told():
    run = Run()
    run.go(500)
    assert run.go(5000, seconds=0.1 / 0.8) == []


def test_a_slow_spell_is_not_told():
    """Half as fast for some windows, again and again."""
    run = Run()
    run.go(500)
    for _ in range(20):
        assert run.go(100, seconds=0.2) == []
        assert run.go(300) == []


def test_warm_up_is_not_the_start():
    run = Run()
    run.go(16, seconds=1.0)
    run.go(500)
    assert run.go(5000, seconds=0.15) == [pytest.approx(0.67, abs=0.02)]


def test_one_odd_window_does_not_spoil_the_start():
    run = Run()
    run.go(60)
    run.go(20, seconds=0.01)  # for two tenths of a second ten times as fast
    run.go(40, seconds=1.0)
    run.go(500)
    assert run.go(3000) == []


@pytest.mark.parametrize("seed", range(5))
def test_batches_of_all_lengths(seed):
    """Short batches have fewer tokens a second: each step costs something of its own."""
    draw = random.Random(seed)

    def steps(run: Run, count: int, slower: float = 1.0) -> list[float]:
        told = []
        for _ in range(count):
            tokens = 32 * draw.choice([8, 16, 32, 64, 128])
            told += run.go(1, (0.02 + tokens * 2e-5) / slower, tokens)
        return told

    run = Run()
    assert steps(run, 8000) == []
    assert steps(run, 8000, slower=0.6) == [pytest.approx(0.6, abs=0.07)]


def test_another_kind_of_work_is_not_compared():
    """Rows in the file's order may be long first and short later."""
    run = Run()
    run.go(500, tokens=4000)
    assert run.go(3000, tokens=400) == []


def test_time_of_a_step_follows_the_present():
    run = Run()
    run.go(1, seconds=5.0)
    assert run.pace.seconds_per_step == pytest.approx(5.0)
    run.go(40)
    assert run.pace.seconds_per_step == pytest.approx(0.1), "the first window, with the warm-up, is left out"
    run.go(2000)
    assert run.pace.seconds_per_step == pytest.approx(0.1)
    run.go(2000, seconds=0.2)
    assert run.pace.seconds_per_step == pytest.approx(0.2)


def test_no_step_yet():
    assert Pace().seconds_per_step == 0.0
