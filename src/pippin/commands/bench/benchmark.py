"""The benchmark from what was asked to what was found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pippin._version import __version__
from pippin.cache import VARIABLE as CACHE_VARIABLE
from pippin.commands.bench.inference import InferenceTest
from pippin.commands.bench.largest import largest_batch
from pippin.commands.bench.results import HEAD_ONLY, INFERENCE, PIPPIN, TRAINING, TRANSFORMERS, Bench, Setting
from pippin.commands.bench.schedule import BenchSchedule, Show, Stopwatch, TimedTest
from pippin.commands.bench.subject import found
from pippin.commands.bench.training import HEAD_ONLY_EPOCHS, ROWS, Trainer, TrainingTest, affordable_rows
from pippin.commands.bench.with_pippin import train as train_with_pippin
from pippin.machine.drivers import get_backend
from pippin.machine.machine import Machine
from pippin.machine.probe import probe
from pippin.machine.system import chip_name
from pippin.plan.device import choose_device
from pippin.recipe import Recipe
from pippin.runs.record import now

#: Minutes by default: for the built-in model, and for BERT-base.
MINUTES, MINUTES_FULL = 2.0, 10.0
#: Share of the time by the end of which each test is done.
_DONE_BY = {INFERENCE: 0.4, TRAINING: 0.85, HEAD_ONLY: 1.0}
#: Seconds that are kept for the charts.
_FOR_CHARTS = 8.0


@dataclass(frozen=True)
class Asked:
    model: str | None = None
    data: str | None = None
    devices: tuple[str, ...] = ()
    """None named: all that are here, but for emulated ones."""
    minutes: float = MINUTES
    repeats: int = 5
    cool_down: float = 0.0
    full: bool = False
    against_transformers: bool = False


class Benchmark:
    """A benchmark under way. When it is interrupted, ``bench`` holds what was found so far."""

    def __init__(self, asked: Asked, show: Show, clock: Stopwatch | None = None):
        self.asked, self.show, self.clock = asked, show, clock or Stopwatch()
        self.machine = replace(probe(), chip=chip_name())
        self.devices = choose_devices(asked.devices, self.machine)
        self.total = max(60 * asked.minutes - _FOR_CHARTS, 0.8 * 60 * asked.minutes)
        self.trainers: dict[str, Trainer] = {PIPPIN: train_with_pippin}
        if asked.against_transformers:
            from pippin.commands.bench.with_transformers import require_trainer, train

            require_trainer()
            self.trainers[TRANSFORMERS] = train
        self.start = self.clock.now()
        self.rested = 0.0
        self.bench = Bench(
            model=asked.model or "",
            data=asked.data or "",
            machine=self.machine,
            date=now(),
            pippin=__version__,
            devices=self.devices,
            points=(),
            head_only_epochs=HEAD_ONLY_EPOCHS,
            emulated=tuple(device for device in self.devices if get_backend(device).is_emulated),
            complete=False,
        )

    def run(self) -> Bench:
        """All three tests."""
        asked = self.asked
        with _without_cache(), found(asked.model, asked.data, asked.full, self.machine) as subject:
            job = subject.job
            inference = InferenceTest(subject, self.devices, self.clock)
            self.bench = replace(
                self.bench,
                model=subject.model,
                data=job.data.name,
                length=inference.length,
                metric=job.data.task.main_metric,
                padded_to=job.plan.batches.max_length.value if asked.against_transformers else 0,
                random_weights=subject.random_weights,
            )
            self._measure(INFERENCE, inference)
            del inference  # its models make room
            training = TrainingTest(subject, self.devices, self.trainers)
            training.rows = affordable_rows(training, self._time_for(TRAINING))
            self.bench = replace(self.bench, training_rows=training.rows)
            if training.rows < ROWS:
                self._leave_out(f"training on {ROWS:,} rows (instead, on {training.rows})")
            self._measure(TRAINING, training)
            self._measure(HEAD_ONLY, training.for_the_head_alone())
            for head_only in (False, True):
                for device in self.devices:
                    answer = largest_batch(subject, device, self.bench.length, head_only, self.clock)
                    self.bench = replace(self.bench, largest=(*self.bench.largest, answer))
        self.bench = replace(self.bench, complete=True, seconds=self._seconds())
        return self.bench

    def _measure(self, name: str, test: TimedTest) -> None:
        rest, later = self.asked.cool_down, self.total * (1 - _DONE_BY[name])

        def show(setting: Setting, repeat: int, repeats: int, left: float) -> None:
            self.show(setting, repeat, repeats, left + later)

        schedule = BenchSchedule(test, self._time_for(name), self.asked.repeats, self.clock, show, rest)
        before = self.clock.now()
        try:
            schedule.run()
        finally:
            self.rested += max(0.0, self.clock.now() - before - schedule.spent) if rest else 0.0
            self.bench = replace(self.bench, points=(*self.bench.points, *schedule.points()), seconds=self._seconds())
        for words in left_out_words(schedule.left_out):
            self._leave_out(words)

    def _time_for(self, name: str) -> float:
        """Seconds for a test: its share, and what the tests before it left."""
        return max(0.0, self.total * _DONE_BY[name] - self._seconds())

    def _seconds(self) -> float:
        return round(self.clock.now() - self.start - self.rested, 1)

    def _leave_out(self, words: str) -> None:
        self.bench = replace(self.bench, left_out=(*self.bench.left_out, words))


def choose_devices(asked: tuple[str, ...], machine: Machine) -> tuple[str, ...]:
    """Those that were asked for, or the first of each kind; an emulated one only where it was asked for."""
    if asked:
        return tuple(dict.fromkeys(choose_device(Recipe(device=device), machine).value for device in asked))
    kinds = dict.fromkeys(device.kind for device in machine.devices)
    return tuple(kind for kind in kinds if not get_backend(kind).is_emulated)


def left_out_words(settings: list[Setting]) -> list[str]:
    """What there was no time for, in few words.

    >>> left_out_words([Setting("inference", "cpu", "fp32", batch, 512) for batch in (8, 16, 32)])
    ['inference with 512 tokens in fp32 (batch sizes 8, 16, 32)']
    >>> left_out_words([Setting("training", "cpu", "fp32", 64)])
    ['training (batch size 64)']
    """
    by_kind: dict[str, set[int]] = {}
    for setting in settings:
        words = setting.test if setting.length is None else f"{setting.test} with {setting.length} tokens"
        words += f" in {setting.precision}" if setting.length is not None else ""
        words += "" if setting.library == PIPPIN else " by HF Trainer"
        by_kind.setdefault(words, set()).add(setting.batch)
    return [
        f"{words} (batch size{'s' * (len(sizes) > 1)} {', '.join(map(str, sorted(sizes)))})"
        for words, sizes in by_kind.items()
    ]


@contextmanager
def _without_cache() -> Iterator[None]:
    """Nothing is found ready that should be measured, and nothing is left behind."""
    before = os.environ.get(CACHE_VARIABLE)
    os.environ[CACHE_VARIABLE] = "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ[CACHE_VARIABLE]
        else:
            os.environ[CACHE_VARIABLE] = before
