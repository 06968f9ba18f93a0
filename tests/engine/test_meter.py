"""Speed, the time left, and what the meter tells of by itself."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from training_helpers import HandClock

from pippin.data.examples import Examples
from pippin.engine.finite import NotFinite
from pippin.engine.meter import Meter
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.tasks.sequence.task import SequenceTask

ROWS = np.arange(8)


class Bench:
    """A meter with a clock that is moved by hand, and all that it told."""

    def __init__(self, total_steps: int = 1000):
        self.clock, self.told = HandClock(), []
        texts = Examples([""] * 8, None, None, list(range(1, 9)), "words.csv")
        self.meter = Meter(
            get_backend("cpu"), total_steps, self.hear, NotFinite(texts, SequenceTask().suspects, "fp32"), self.clock
        )

    def hear(self, name: str, **figures) -> None:
        self.told.append((name, figures))

    def steps(self, count: int, seconds: float = 1.0) -> None:
        for _ in range(count):
            self.step(2.0, seconds)

    def step(self, loss: float, seconds: float = 1.0) -> None:
        self.clock.work(seconds)
        self.meter.add(torch.tensor(loss), torch.tensor(0.5), ROWS, tokens=100)


def test_figures_of_the_window():
    bench = Bench()
    bench.steps(10)
    figures = bench.meter.read()
    assert (figures["loss"], figures["grad_norm"]) == (2.0, 0.5)
    assert (figures["samples_per_second"], figures["tokens_per_second"]) == (8.0, 100.0)
    bench.steps(10, seconds=2.0)
    assert bench.meter.read()["samples_per_second"] == 4.0
    assert bench.meter.finish() == 2.0


def test_pauses_are_no_training_but_take_time():
    bench = Bench(total_steps=20)
    bench.steps(10)
    with bench.meter.paused():
        bench.clock.work(50)
    figures = bench.meter.read()
    assert figures["samples_per_second"] == 8.0
    assert figures["seconds_left"] == 10 * 1.0 + 50, "the rest will pause as well"
    assert bench.meter.seconds == 60
    assert bench.told == []


def test_time_left_follows_the_present_speed():
    bench = Bench(total_steps=3000)
    bench.steps(1000)
    bench.steps(1000, seconds=1.2)
    assert bench.meter.read()["seconds_left"] == pytest.approx(1200)


def test_a_slow_run_is_told():
    bench = Bench(total_steps=3000)
    bench.steps(500)
    bench.steps(1000, seconds=2.0)
    (told,) = bench.told
    assert told == ("slow", {"step": told[1]["step"], "share": 0.5})


def test_sleep_is_told_and_left_out():
    bench = Bench()
    bench.steps(9)
    bench.clock.sleep(41 * 60)
    bench.steps(1)
    assert bench.told == [("slept", {"step": 10, "seconds": 2460.0, "sure": True})]
    figures = bench.meter.read()
    assert (figures["samples_per_second"], figures["seconds_left"]) == (8.0, 990.0)


def test_a_step_that_took_very_long_is_left_out_of_the_speed_alone():
    """Where the running clock counts sleep as well."""
    bench = Bench()
    bench.steps(9)
    bench.clock.work(600)
    bench.steps(1)
    assert bench.told == [("slept", {"step": 10, "seconds": 600.0, "sure": False})]
    figures = bench.meter.read()
    assert (figures["samples_per_second"], figures["seconds_left"]) == (8.0, 990.0)
    assert bench.meter.seconds == 610, "the run's time stays the clock's"


def test_sleep_in_an_evaluation_is_told():
    bench = Bench()
    bench.steps(5)
    with bench.meter.paused():
        bench.clock.sleep(120)
    assert bench.told == [("slept", {"step": 5, "seconds": 120.0, "sure": True})]


def test_a_resumed_run_counts_on_to_the_same_figures():
    losses = np.random.default_rng(0).random(40).tolist()
    whole, first, second = Bench(40), Bench(40), Bench(40)
    logged: dict[str, list] = {"whole": [], "resumed": []}
    for step, loss in enumerate(losses, 1):
        whole.step(loss)
        if step % 10 == 0:
            logged["whole"].append(whole.meter.read())
    for step, loss in enumerate(losses, 1):
        if step == 24:
            second.clock.work(500)  # from one process to the next, no training
            second.meter.restore(json.loads(json.dumps(first.meter.state())))
        bench = first if step < 24 else second
        bench.step(loss)
        if step % 10 == 0:
            logged["resumed"].append(bench.meter.read())
    for before, after in zip(logged["whole"], logged["resumed"], strict=True):
        before.pop("memory"), after.pop("memory")
        assert after == before
    assert second.meter.finish() == whole.meter.finish()
    for name in ("steps", "rows", "tokens", "seconds", "busy_seconds"):
        assert getattr(second.meter, name) == getattr(whole.meter, name), name


def test_a_state_holds_no_number_that_is_none():
    bench = Bench()
    bench.step(float("nan"))
    with pytest.raises(PippinError, match="the loss of step 1 is not finite"):
        bench.meter.state()


def test_weights_are_looked_at_before_a_model_is_kept():
    bench, model = Bench(), torch.nn.Linear(2, 2)
    bench.steps(3)
    bench.meter.check_finite(model)
    torch.nn.init.constant_(model.bias, float("inf"))
    with pytest.raises(
        PippinError, match="the weights of step 3 are not finite .* in words.csv: 1, 2, 3, 4, 5, 6, 7, 8"
    ):
        bench.meter.check_finite(model)
