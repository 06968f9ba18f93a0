"""Full fine-tuning, and training of the head alone on a frozen core: one pass over the questions for each repeat.

Speed is taken over the second half of a pass, since the first sets things up. Of the head alone it is taken over the
whole, since most of its work is done at the beginning: the core runs once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from pippin.commands.bench.results import HEAD_ONLY, PIPPIN, TRAINING, Setting
from pippin.commands.bench.schedule import CannotMeasure, Sample, WarmUp
from pippin.commands.bench.subject import Subject
from pippin.commands.bench.watch import fitting, watching
from pippin.machine.drivers import get_backend
from pippin.plan.device import choose_precision
from pippin.recipe import Recipe

#: The most telling first.
BATCHES = (32, 16, 64, 8)
ROWS = 1000
#: Where there is no time for all rows.
FEWER_ROWS = (500, 250, 100)
HEAD_ONLY_EPOCHS = 3
_WARM_UP_STEPS = 2
#: What a pass of the head alone takes beside the core's run.
_HEAD_STEPS = 1.2


@dataclass(frozen=True)
class Pass:
    """What is trained."""

    rows: int
    epochs: int = 1
    steps: int | None = None
    """Instead of epochs."""
    head_only: bool = False
    judged: bool = False
    """Whether the model is scored afterwards."""


@dataclass(frozen=True)
class Passed:
    """When training began, when half of its steps were done and when all, and what else was seen."""

    start: float
    half: float
    end: float
    rows: int
    """Rows trained on in all."""
    rows_after_half: int
    score: float | None = None
    note: str = ""


#: Trains once, with one library: subject, setting and pass.
Trainer = Callable[[Subject, Setting, Pass], Passed]


@dataclass
class TrainingTest:
    """Every device with every library, by batch size."""

    subject: Subject
    devices: tuple[str, ...]
    trainers: dict[str, Trainer]
    rows: int = ROWS
    head_only: bool = False
    _paces: dict[Setting, tuple[float, float]] = field(default_factory=dict)
    """By the warm-up: seconds to get going, and for each row."""
    _whole_model: dict[Setting, tuple[float, float]] = field(default_factory=dict)
    """The same where the whole model was trained, for a guess."""

    @property
    def epochs(self) -> int:
        return HEAD_ONLY_EPOCHS if self.head_only else 1

    def for_the_head_alone(self) -> TrainingTest:
        """The same rows and devices, with a frozen core."""
        return replace(self, head_only=True, _paces={}, _whole_model=self._paces)

    def groups(self) -> list[list[Setting]]:
        test, machine = HEAD_ONLY if self.head_only else TRAINING, self.subject.job.machine
        precisions = {each: choose_precision(Recipe(device=each), machine.device(each)).value for each in self.devices}
        contenders = [(device, library) for device in self.devices for library in self.trainers]
        return [
            [Setting(test, device, precisions[device], batch, library=library) for device, library in contenders]
            for batch in BATCHES
        ]

    def guess(self, setting: Setting, known: dict[Setting, float]) -> float:
        """What another batch size took; of the head alone, a third of the whole model's time for a run of the core."""

        def alike(other: Setting) -> bool:
            return (other.device, other.library) == (setting.device, setting.library)

        runs = 1 if setting.library == PIPPIN else self.epochs
        seconds = [known[other] for other in known if alike(other)]
        seconds = seconds or [each[1] * self.rows * runs / 3 for s, each in self._whole_model.items() if alike(s)]
        return max(seconds, default=0.0)

    def warm_up(self, setting: Setting) -> WarmUp:
        """A few steps, and what a whole pass will take by them."""
        if setting not in self._paces:
            passed = self._train(setting, Pass(self.rows, steps=_WARM_UP_STEPS, head_only=self.head_only))
            whole, a_row = passed.end - passed.start, (passed.end - passed.half) / max(passed.rows_after_half, 1)
            self._paces[setting] = whole - a_row * passed.rows, a_row
            if self.head_only and setting.library == PIPPIN:
                self._paces[setting] = _HEAD_STEPS * whole, 0.0  # the core of all rows is in it already
        begin, a_row = self._paces[setting]
        return WarmUp(begin + a_row * self.epochs * self.rows)

    def measure(self, setting: Setting) -> Sample:
        with watching(get_backend(setting.device), power=True) as watched:
            judged = self.rows == ROWS and not self.subject.random_weights
            passed = self._train(setting, Pass(self.rows, self.epochs, None, self.head_only, judged))
        whole = passed.end - passed.start
        rows, seconds = passed.rows_after_half, passed.end - passed.half
        if self.head_only:
            rows, seconds = passed.rows, whole
        return Sample(rows, seconds, whole, watched.memory, watched.watts, passed.score, passed.note)

    def _train(self, setting: Setting, asked: Pass) -> Passed:
        train = partial(self.trainers[setting.library], self.subject, setting, asked)
        return fitting(get_backend(setting.device), train)


def affordable_rows(test: TrainingTest, budget: float) -> int:
    """As many rows as there is time for, by a few steps of every device in the first setting."""
    seconds = 0.0
    for setting in test.groups()[0]:
        try:
            seconds += test.warm_up(setting).seconds
        except CannotMeasure:  # the schedule finds it too, and says so
            continue
    fitting = (rows for rows in (ROWS, *FEWER_ROWS) if seconds * rows / ROWS * 2 <= budget)
    return next(fitting, FEWER_ROWS[-1])
