"""What is measured when, with a clock and work of the tests' own."""

from __future__ import annotations

import pytest

from pippin.commands.bench.results import Setting
from pippin.commands.bench.schedule import BenchSchedule, CannotMeasure, Sample, Stopwatch, WarmUp


class MadeUpClock(Stopwatch):
    def __init__(self) -> None:
        self.time, self.rested = 0.0, 0.0

    def now(self) -> float:
        return self.time

    def rest(self, seconds: float) -> None:
        self.time += seconds
        self.rested += seconds


class MadeUpTest:
    """Batches on two devices; a row takes a second."""

    def __init__(self, clock: MadeUpClock, batches=(1, 2, 4), devices=("slow", "fast"), too_large: int = 100):
        self.clock, self.batches, self.devices, self.too_large = clock, batches, devices, too_large
        self.done: list[tuple[str, int]] = []
        self.warmed: list[tuple[str, int]] = []
        self.slower = 1.0

    def groups(self) -> list[list[Setting]]:
        return [[Setting("inference", device, "fp32", batch) for device in self.devices] for batch in self.batches]

    def guess(self, setting: Setting, known: dict[Setting, float]) -> float:
        return float(setting.batch) if known else 0.0

    def warm_up(self, setting: Setting) -> WarmUp:
        self.warmed.append((setting.device, setting.batch))
        self._work(setting)
        return WarmUp(setting.batch, memory=10 * setting.batch)

    def measure(self, setting: Setting) -> Sample:
        self.done.append((setting.device, setting.batch))
        self._work(setting)
        return Sample(setting.batch, setting.batch * self.slower)

    def _work(self, setting: Setting) -> None:
        if setting.batch >= self.too_large and setting.device == "slow":
            raise CannotMeasure("out of memory")
        self.clock.time += setting.batch * self.slower


@pytest.fixture
def clock() -> MadeUpClock:
    return MadeUpClock()


def run(test: MadeUpTest, clock: MadeUpClock, budget: float = 1000, repeats: int = 2, **more) -> BenchSchedule:
    schedule = BenchSchedule(test, budget, repeats, clock, **more)
    schedule.run()
    return schedule


def test_devices_take_turns_and_each_round_another_begins(clock):
    test = MadeUpTest(clock, batches=(1, 2))
    run(test, clock)
    first = [("slow", 1), ("fast", 1), ("slow", 2), ("fast", 2)]
    assert test.done == [*first, ("fast", 1), ("slow", 1), ("fast", 2), ("slow", 2)]
    assert test.warmed == first


def test_every_repeat_is_kept(clock):
    points = run(MadeUpTest(clock), clock, repeats=3).points()
    assert [point.seconds for point in points[-2:]] == [(4.0, 4.0, 4.0)] * 2
    assert points[-1].samples_per_second == 1.0
    assert points[-1].memory == 40


def test_what_there_is_no_time_for_is_left_out_before_it_is_tried(clock):
    test = MadeUpTest(clock)
    schedule = run(test, clock, budget=20)
    assert {setting.batch for setting in schedule.left_out} == {4}
    assert ("slow", 4) not in test.warmed
    assert clock.time <= 20


def test_something_is_measured_in_no_time_at_all(clock):
    schedule = run(MadeUpTest(clock), clock, budget=0)
    assert [len(point.seconds) for point in schedule.points()] == [1, 1]
    assert {setting.batch for setting in schedule.left_out} == {2, 4}


def test_a_contender_that_would_take_all_the_time_is_left_out(clock):
    test = MadeUpTest(clock, batches=(1,))
    test.guess = lambda setting, known: 6.0 if setting.device == "slow" else 1.0
    schedule = run(test, clock, budget=10)
    assert [setting.device for setting in schedule.left_out] == ["slow"]
    assert {device for device, _ in test.warmed} == {"fast"}
    assert len(run(test, clock, budget=0).points()) == 1, "but one is always measured"


def test_repeats_are_as_many_as_there_is_time_for(clock):
    points = run(MadeUpTest(clock, batches=(1,)), clock, budget=8, repeats=50).points()
    assert [len(point.seconds) for point in points] == [3, 3]


def test_a_machine_that_gets_slower_is_not_waited_for(clock):
    test = MadeUpTest(clock, batches=(1,))
    original = test.measure

    def slower(setting: Setting) -> Sample:
        test.slower = 10.0
        return original(setting)

    test.measure = slower
    assert [len(point.seconds) for point in run(test, clock, budget=8, repeats=50).points()] == [1, 1]


def test_out_of_memory_is_an_answer(clock):
    test = MadeUpTest(clock, too_large=4)
    points = {(p.setting.device, p.setting.batch): p for p in run(test, clock).points()}
    assert points["slow", 4].trouble == "out of memory"
    assert points["slow", 4].seconds == ()
    assert points["fast", 4].seconds == (4.0, 4.0)
    assert ("slow", 4) not in test.done


def test_rest_is_not_part_of_the_time(clock):
    schedule = run(MadeUpTest(clock, batches=(1,)), clock, budget=6, cool_down=100.0)
    assert clock.rested == 400
    assert schedule.spent == 6


def test_what_was_measured_before_an_interruption_is_there(clock):
    test = MadeUpTest(clock, batches=(1, 2))
    original = test.measure

    def interrupted(setting: Setting) -> Sample:
        if len(test.done) == 3:
            raise KeyboardInterrupt
        return original(setting)

    test.measure = interrupted
    schedule = BenchSchedule(test, 1000, 2, clock)
    with pytest.raises(KeyboardInterrupt):
        schedule.run()
    assert [point.setting.batch for point in schedule.points()] == [1, 1, 2]


def test_progress_tells_the_time_left(clock):
    seen = []
    run(MadeUpTest(clock, batches=(1,)), clock, budget=100, show=lambda _, *figures: seen.append(figures))
    assert seen == [(0, 0, 100), (0, 0, 99), (1, 2, 4), (1, 2, 3), (2, 2, 2), (2, 2, 1)]
