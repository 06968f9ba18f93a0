"""What is measured when: a warm-up for every setting, then rounds in which each setting has its turn on each device.

A machine that gets hot or busy gets slower for all devices alike, since their turns come one after the other. What the
time that there is does not allow is left out, the least important first, and said.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from pippin.commands.bench.results import Point, Setting

#: Repeats that there must be time for, else a setting is left out.
_FEWEST_REPEATS = 2
#: What is heard of progress: a setting, the repeat and of how many (0: the warm-up), seconds left in this test.
Show = Callable[[Setting, int, int, float], None]


class CannotMeasure(Exception):
    """A setting that the device cannot do; the words say why."""


class Stopwatch:
    """Time, so that tests can have their own."""

    def now(self) -> float:
        return time.perf_counter()

    def rest(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass(frozen=True)
class WarmUp:
    """What a first try tells."""

    seconds: float
    """That a repeat will take."""
    memory: int | None = None


@dataclass(frozen=True)
class Sample:
    """One repeat."""

    rows: int
    seconds: float
    """That these rows took."""
    whole_seconds: float | None = None
    memory: int | None = None
    watts: float | None = None
    score: float | None = None
    note: str = ""


class TimedTest(Protocol):
    """Something that is measured in several settings."""

    def groups(self) -> list[list[Setting]]:
        """The settings, those together that are compared with each other; the most important first."""

    def guess(self, setting: Setting, known: dict[Setting, float]) -> float:
        """Seconds that a repeat may take, by those of other settings; 0 where nothing is known."""

    def warm_up(self, setting: Setting) -> WarmUp:
        """Do it for the first time."""

    def measure(self, setting: Setting) -> Sample:
        """Do it once more, and take the time."""


@dataclass
class _Entry:
    setting: Setting
    seconds: float = 0.0
    """That a repeat takes, by the warm-up."""
    memory: int | None = None
    samples: list[Sample] = field(default_factory=list)
    trouble: str = ""

    def point(self) -> Point:
        rows = self.samples[0].rows if self.samples else 0
        seconds = tuple(sample.seconds for sample in self.samples)
        memory = [each for each in (self.memory, *(sample.memory for sample in self.samples)) if each is not None]
        watts = [sample.watts for sample in self.samples if sample.watts is not None]
        notes = [sample.note for sample in self.samples if sample.note]
        return Point(
            setting=self.setting,
            rows=rows,
            seconds=seconds,
            samples_per_second=round(rows / statistics.median(seconds), 3) if seconds else None,
            whole_seconds=tuple(sample.whole_seconds for sample in self.samples if sample.whole_seconds is not None),
            memory=max(memory, default=None),
            watts=round(statistics.median(watts), 1) if watts else None,
            score=next((sample.score for sample in reversed(self.samples) if sample.score is not None), None),
            trouble=self.trouble or (notes[0] if notes else ""),
        )


@dataclass
class BenchSchedule:
    """One test within its time."""

    test: TimedTest
    budget: float
    repeats: int
    clock: Stopwatch
    show: Show = lambda *_: None
    cool_down: float = 0.0
    """Seconds of rest before each repeat; they are not part of the budget."""
    spent: float = 0.0
    left_out: list[Setting] = field(default_factory=list)
    _entries: list[_Entry] = field(default_factory=list)

    def run(self) -> None:
        """Measure; where it is interrupted, ``points`` holds what was found so far."""
        groups = self.test.groups()
        for group in groups:
            self._warm_up(group)
        a_round = sum(entry.seconds for entry in self._able())
        left = self.budget - self.spent
        repeats = max(1, min(self.repeats, int(left / a_round) if a_round > 0 else self.repeats))
        for number in range(repeats):
            if number and self.spent > self.budget:  # it is slower than the warm-up was
                return
            remaining = (repeats - number) * a_round
            for entry in self._in_turn(groups, number):
                if self.cool_down:
                    self.clock.rest(self.cool_down)
                self.show(entry.setting, number + 1, repeats, max(0.0, remaining))
                with self._attempt(entry):
                    entry.samples.append(self.test.measure(entry.setting))
                remaining -= entry.seconds

    def points(self) -> tuple[Point, ...]:
        """What was found, in the order of importance."""
        return tuple(entry.point() for entry in self._entries if entry.samples or entry.trouble)

    def _warm_up(self, group: list[Setting]) -> None:
        known = {entry.setting: entry.seconds for entry in self._able()}
        guesses = {setting: self.test.guess(setting, known) for setting in group}
        if self._entries and not self._can_afford((1 + _FEWEST_REPEATS) * sum(guesses.values())):
            self.left_out += group
            return
        first = not self._entries
        if first:  # something has to be measured, but not by a contender that would take all the time
            quick = [setting for setting in group if guesses[setting] <= self.budget / 2]
            chosen = quick or [min(group, key=lambda setting: guesses[setting])]
            self.left_out += [setting for setting in group if setting not in chosen]
            group = chosen
        entries = [_Entry(setting) for setting in group]
        for entry in entries:
            self.show(entry.setting, 0, 0, max(0.0, self.budget - self.spent))
            with self._attempt(entry):
                warm = self.test.warm_up(entry.setting)
                entry.seconds, entry.memory = warm.seconds, warm.memory
        if first or self._can_afford(_FEWEST_REPEATS * sum(entry.seconds for entry in entries)):
            self._entries += entries
        else:
            self.left_out += group

    def _can_afford(self, seconds: float) -> bool:
        owed = _FEWEST_REPEATS * sum(entry.seconds for entry in self._able())
        return self.spent + owed + seconds <= self.budget

    def _able(self) -> list[_Entry]:
        return [entry for entry in self._entries if not entry.trouble]

    def _in_turn(self, groups: list[list[Setting]], number: int) -> Iterator[_Entry]:
        """Settings that are compared with each other come one after the other, each round another one first."""
        by_setting = {entry.setting: entry for entry in self._able()}
        for group in groups:
            found = [by_setting[setting] for setting in group if setting in by_setting]
            first = number % len(found) if found else 0
            yield from [*found[first:], *found[:first]]

    @contextmanager
    def _attempt(self, entry: _Entry) -> Iterator[None]:
        start = self.clock.now()
        try:
            yield
        except CannotMeasure as error:
            entry.trouble = str(error)
        finally:
            self.spent += self.clock.now() - start
