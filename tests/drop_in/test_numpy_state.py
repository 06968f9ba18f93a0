"""The state that is kept of numpy's generator is the one that it has, whatever was drawn."""

from __future__ import annotations

import numpy as np
import pytest

from pippin.drop_in.safekeeping import NumpyState

DRAWS = {
    "nothing": lambda: None,
    "a number": np.random.rand,
    "of a normal distribution": np.random.randn,
    "many": lambda: np.random.rand(2000),
    "a seed": lambda: np.random.seed(5),
}


@pytest.fixture(autouse=True)
def _own_state():
    before = np.random.get_state()
    np.random.seed(3)
    yield
    np.random.set_state(before)


@pytest.mark.parametrize("second", DRAWS)
@pytest.mark.parametrize("first", DRAWS)
def test_it_follows_every_draw(first, second):
    kept = NumpyState()
    for draw in (first, second, second, first):
        DRAWS[draw]()
        state, expected = kept.read(), np.random.get_state()
        assert (state[0], state[2:]) == (expected[0], expected[2:])
        assert (state[1] == expected[1]).all()


def test_it_is_read_once_while_nothing_is_drawn(monkeypatch):
    kept, read = NumpyState(), []
    usual = np.random.get_state
    monkeypatch.setattr(np.random, "get_state", lambda: read.append(1) or usual())
    for _ in range(3):
        kept.read()
    assert len(read) == 1
    np.random.rand()
    kept.read()
    assert len(read) == 2


@pytest.mark.filterwarnings("ignore:get_state and legacy")
def test_another_generator_is_read_every_time():
    before = np.random.get_bit_generator()
    np.random.set_bit_generator(np.random.PCG64(1))
    try:
        kept = NumpyState()
        first = kept.read()
        np.random.rand()
        assert kept.read() != first
    finally:
        np.random.set_bit_generator(before)
