"""The Apple GPU's memory: its peak, its relief, and the variables that limit it."""

from __future__ import annotations

import pytest

from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.drivers.mps_memory import HIGH, LOW, MemoryWatch, has_no_limit, watermark_problem


class Driver:
    """Memory that grows as told; emptying leaves what is in use."""

    def __init__(self, held: int = 0, used: int = 0):
        self.held, self.used, self.emptied = held, used, 0

    def empty(self) -> None:
        self.emptied += 1
        self.held = self.used


def watch(driver: Driver) -> MemoryWatch:
    return MemoryWatch(lambda: driver.held, 1000, driver.empty)


def test_the_peak_is_the_most_of_all_looks():
    driver = Driver(10)
    seen = watch(driver)
    with seen:
        for driver.held in (30, 700, 20):
            seen.look()
    assert seen.peak == 700


def test_the_thread_looks_by_itself():
    import threading

    looked = threading.Event()
    calls = iter([5, *[900] * 1000])

    def held() -> int:
        now = next(calls)
        if now == 900:
            looked.set()
        return now

    with MemoryWatch(held, 1000, lambda: None) as seen:
        assert looked.wait(10)
    assert seen.peak == 900


def test_the_cache_is_emptied_near_the_limit_and_not_before():
    driver = Driver(899, used=200)
    assert watch(driver).relieve() is None
    driver.held = 901
    assert watch(driver).relieve() == (901, 200)
    assert driver.emptied == 1


def test_it_is_not_emptied_again_until_it_is_worth_it():
    driver = Driver(950, used=930)  # nearly all of it is in use
    seen = watch(driver)
    assert seen.relieve() == (950, 930)
    for driver.held in (940, 1000, 1029):
        assert seen.relieve() is None
    driver.held = 1031
    assert seen.relieve() == (1031, 930)
    assert driver.emptied == 2


@pytest.mark.parametrize(
    ("high", "low", "starts"),
    [(None, None, True), ("1.0", "0.8", True), ("0.0", None, True), ("2", "1.4", True), ("1.0", None, False),
     ("2.5", None, False), ("1.5", "-1", False), ("much", None, False)],
)  # fmt: skip
def test_watermarks(monkeypatch, high, low, starts):
    for name, value in ((HIGH, high), (LOW, low)):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)
    import os

    assert (watermark_problem(os.environ) is None) == starts
    assert has_no_limit(os.environ) == (high == "0.0")
    backend = get_backend("mps")
    if not starts:
        with pytest.raises(PippinError, match=f"unset {HIGH} {LOW}"):
            backend.check_environment()
    elif high == "0.0":
        assert "can freeze" in backend.check_environment()
    else:
        assert backend.check_environment() is None
    assert get_backend("cpu").check_environment() is None
