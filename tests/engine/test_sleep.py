"""Sleep is read off two clocks, both made up here."""

from __future__ import annotations

from training_helpers import HandClock

from pippin.engine.sleep import Gap, SleepWatch


def watched(steps: int = 10, seconds: float = 1.0) -> tuple[HandClock, SleepWatch]:
    """A watch that has seen some steps."""
    clock = HandClock()
    watch = SleepWatch(clock)
    for _ in range(steps):
        clock.work(seconds)
        assert watch.after_step() is None
    return clock, watch


def test_the_running_clock_stopped():
    clock, watch = watched()
    clock.work(1.0)
    clock.sleep(41 * 60)
    assert watch.after_step() == Gap(41 * 60, sure=True, counted=0.0)
    clock.work(1.0)
    assert watch.after_step() is None


def test_sleep_in_an_evaluation():
    clock, watch = watched()
    clock.work(500)
    assert watch.after_pause() is None, "evaluations may take long"
    clock.sleep(100)
    assert watch.after_pause() == Gap(100, sure=True, counted=0.0)


def test_a_time_that_is_set_a_little_is_no_sleep():
    clock, watch = watched()
    for seconds in (20, -20, -3600):
        clock.sleep(seconds)
        assert watch.after_step() is None


def test_one_step_that_took_very_long():
    clock, watch = watched()
    clock.work(601)
    assert watch.after_step() == Gap(600, sure=False, counted=600)
    clock.work(1)
    assert watch.after_step() is None


def test_steps_that_are_all_long_are_not_sleep():
    clock, watch = watched()
    clock.work(601)
    watch.after_step()
    for _ in range(10):
        clock.work(601)
        assert watch.after_step() is None


def test_slow_steps_have_a_longer_measure():
    clock, watch = watched(seconds=30)
    clock.work(300)
    assert watch.after_step() is None
    clock.work(30)
    watch.after_step()
    clock.work(2000)
    assert watch.after_step() == Gap(1970, sure=False, counted=1970)


def test_first_steps_may_take_as_long_as_they_like():
    clock, watch = watched(steps=2)
    clock.work(900)
    assert watch.after_step() is None
