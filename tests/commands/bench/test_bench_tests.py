"""The three tests of a benchmark with a tiny model: what they train, what they answer, what does not fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pippin.commands.bench.inference import InferenceTest
from pippin.commands.bench.largest import largest_batch
from pippin.commands.bench.results import PIPPIN, TRAINING, Setting
from pippin.commands.bench.schedule import CannotMeasure, Stopwatch
from pippin.commands.bench.subject import Subject, found, taken
from pippin.commands.bench.training import ROWS, Pass, Passed, TrainingTest, affordable_rows
from pippin.commands.bench.watch import watching
from pippin.commands.bench.with_pippin import rows_of, train
from pippin.machine.drivers import get_backend
from pippin.machine.probe import probe


@pytest.fixture
def subject(tiny_model, word_file):
    with found(str(tiny_model), str(word_file), False, probe()) as found_subject:
        yield found_subject


def test_rows_come_again_where_there_are_too_few(subject: Subject):
    few = subject.job.rows.train
    job = subject.planned("cpu", 1000, per_device_train_batch_size=8)
    assert len(job.rows.train) == len(job.data.train) == 1000
    assert job.plan.schedule.steps.value == 125
    first = taken(few, np.array([3, 3, 0]))
    assert first.tokens[: few.lengths[3]].tolist() == few.tokens[few.offsets[3] : few.offsets[4]].tolist()
    assert first.labels.tolist() == few.labels[[3, 3, 0]].tolist()
    assert first.lengths.tolist() == few.lengths[[3, 3, 0]].tolist()


def test_rows_of_one_length(subject: Subject):
    rows = subject.rows_of_length(5, 16)
    assert rows.lengths.tolist() == [16] * 5
    assert {rows.tokens[start] for start in rows.offsets[:-1]} == {subject.job.rows.train.tokens[0]}


def test_inference_is_looked_at_by_batch_length_and_precision(subject: Subject):
    test = InferenceTest(subject, ("cpu",), Stopwatch())
    looks = dict.fromkeys((s.precision, s.length) for group in test.groups() for s in group)
    assert list(looks) == [("fp32", 64), ("fp32", 32), ("bf16", 64)], "the model takes 64 tokens, the CPU no fp16"
    setting = test.groups()[1][0]
    warm = test.warm_up(setting)
    sample = test.measure(setting)
    assert (setting.batch, sample.rows) == (2, 2)
    assert 0 < sample.seconds < warm.seconds, "a repeat is made of many batches"
    assert warm.memory > 50_000, "the model is part of it"


def test_guesses_grow_with_the_work(subject: Subject):
    test = InferenceTest(subject, ("cpu",), Stopwatch())
    known = {Setting("inference", "cpu", "fp32", 8, 64): 3.0}
    assert test.guess(Setting("inference", "cpu", "fp32", 16, 64), known) == pytest.approx(6.0)
    assert test.guess(Setting("inference", "cpu", "fp32", 8, 32), known) == pytest.approx(1.5)
    assert test.guess(Setting("inference", "another", "fp32", 8, 32), known) == 0


def test_inference_that_does_not_fit_is_an_answer(subject: Subject, monkeypatch):
    test = InferenceTest(subject, ("cpu",), Stopwatch())
    small, large = test.groups()[0][0], test.groups()[3][0]

    def refuse(batch):
        raise RuntimeError("MPS backend out of memory (MPS allocated: 1 GB)")

    test.warm_up(small)
    monkeypatch.setattr(test._network(large).network, "logits", refuse)
    with pytest.raises(CannotMeasure, match="out of memory"):
        test.warm_up(large)


@pytest.mark.parametrize("head_only", [False, True])
def test_a_pass_of_training(subject: Subject, head_only):
    setting = Setting(TRAINING, "cpu", "fp32", 16)
    passed = train(subject, setting, Pass(100, epochs=2, head_only=head_only, judged=True))
    assert passed.start < passed.half < passed.end
    assert (passed.rows, passed.rows_after_half) == (200, 100)
    assert 0 <= passed.score <= 1


def test_rows_of_steps():
    assert [rows_of(steps, 32, 100) for steps in (0, 1, 3, 4, 5)] == [0, 32, 96, 100, 132]


def a_trainer(seconds_a_row: float, asked: list[Pass] | None = None):
    def run(subject: Subject, setting: Setting, what: Pass) -> Passed:
        if asked is not None:
            asked.append(what)
        rows = what.steps * setting.batch if what.steps else what.rows * what.epochs
        return Passed(0.0, rows / 2 * seconds_a_row, rows * seconds_a_row, rows, rows // 2, score=0.5)

    return run


def test_training_is_timed_over_its_second_half(subject: Subject):
    asked: list[Pass] = []
    test = TrainingTest(subject, ("cpu",), {PIPPIN: a_trainer(0.01, asked)})
    setting = test.groups()[0][0]
    assert test.warm_up(setting).seconds == pytest.approx(10.0)
    sample = test.measure(setting)
    assert (sample.rows, sample.seconds, sample.whole_seconds) == (500, 5.0, 10.0)
    assert asked == [Pass(ROWS, steps=2), Pass(ROWS, judged=True)]


def test_the_head_alone_is_timed_as_a_whole(subject: Subject):
    test = TrainingTest(subject, ("cpu",), {PIPPIN: a_trainer(0.01)}, rows=250, head_only=True)
    sample = test.measure(test.groups()[0][0])
    assert (sample.rows, sample.seconds) == (750, 7.5)


def test_the_head_alone_is_guessed_by_the_whole_model(subject: Subject):
    whole = TrainingTest(subject, ("cpu",), {PIPPIN: a_trainer(0.03), "transformers": a_trainer(0.3)})
    own, other = whole.groups()[0]
    assert whole.guess(own, {}) == 0
    assert whole.guess(own, {whole.groups()[1][0]: 5.0, other: 9.0}) == 5.0
    affordable_rows(whole, 1000)
    head = whole.for_the_head_alone()
    assert [head.guess(setting, {}) for setting in head.groups()[0]] == pytest.approx([10, 300])


def test_fewer_rows_where_time_is_short(subject: Subject):
    test = TrainingTest(subject, ("cpu",), {PIPPIN: a_trainer(0.02), "transformers": a_trainer(0.08)})
    assert [affordable_rows(test, budget) for budget in (200, 100, 50, 1)] == [1000, 500, 250, 100]


def test_a_model_without_knowledge_or_rows_is_not_judged(subject: Subject):
    for which, rows in ((subject, 250), (replace(subject, random_weights=True), ROWS)):
        asked: list[Pass] = []
        test = TrainingTest(which, ("cpu",), {PIPPIN: a_trainer(0.01, asked)}, rows)
        test.measure(test.groups()[0][0])
        assert not asked[0].judged


def test_training_that_does_not_fit_is_an_answer(subject: Subject):
    def refuse(*_):
        raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")

    test = TrainingTest(subject, ("cpu",), {PIPPIN: refuse})
    with pytest.raises(CannotMeasure, match="out of memory"):
        test.measure(test.groups()[0][0])


def test_the_largest_batch_of_the_cpu_is_an_estimate(subject: Subject, monkeypatch):
    from pippin.machine.drivers.cpu import CpuBackend

    held = get_backend("cpu").memory_now()
    monkeypatch.setattr(CpuBackend, "memory_now", lambda self: held)
    answers = []
    for room in (2**22, 2**26, 2**40):
        monkeypatch.setattr(CpuBackend, "memory_budget", lambda self, room=room: held + room)
        answers.append(largest_batch(subject, "cpu", 64, False, Stopwatch()))
    assert 1 <= answers[0].batch < answers[1].batch < answers[2].batch == 4096
    assert all("estimate" in answer.why for answer in answers)


def test_memory_is_what_the_work_took():
    import torch

    with watching(get_backend("cpu")) as watched:
        torch.ones(2**25)  # 128 MB
    assert 0.9 * 2**27 < watched.memory < 1.5 * 2**27
    with watching(get_backend("cpu")) as watched:
        torch.ones(2**22)
    assert watched.memory < 2**26, "what the work before took is forgotten"
