"""Which evaluation is kept, and when to stop."""

from __future__ import annotations

from pippin.engine.best import BestSoFar


def test_a_tie_is_no_improvement():
    best = BestSoFar("accuracy", True, patience=2, threshold=0.0)
    assert best.update(0.8, 1)
    assert not best.update(0.8, 2)
    assert not best.should_stop
    assert not best.update(0.8, 3)
    assert (best.step, best.should_stop) == (1, True)


def test_less_loss_is_better():
    best = BestSoFar("loss", False, patience=0, threshold=0.0)
    assert [best.update(value, step) for step, value in enumerate([1.0, 0.5, 0.6])] == [True, True, False]
    assert not best.should_stop


def test_nan_is_never_the_best():
    best = BestSoFar("pearson", True, patience=0, threshold=0.0)
    assert [best.update(value, step) for step, value in enumerate([float("nan"), 0.1, float("nan"), 0.2])] == [
        False,
        True,
        False,
        True,
    ]


def test_threshold_and_direction():
    best = BestSoFar("accuracy", False, patience=1, threshold=0.1)
    best.update(0.5, 1)
    best.update(0.45, 2)
    assert best.step == 2
    assert best.should_stop, "a gain below the threshold is none"
