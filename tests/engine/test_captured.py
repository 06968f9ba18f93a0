"""Captured steps train as plain ones do. The recorder is a stand-in that does the work again on the kept inputs."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from answers import all_logits
from torch.nn import functional

from pippin.data.batches import few_capacities
from pippin.data.collate import NO_LABEL, Shapes
from pippin.data.encoding import Encoded
from pippin.engine.inference import Inference
from pippin.engine.steps.captured import CapturedStep
from pippin.engine.steps.compiled import Compiling
from pippin.engine.steps.eager import EagerStep
from pippin.machine.drivers.cpu import CpuBackend
from pippin.models import network as networks
from pippin.models.families import family_of
from pippin.models.network import Network
from pippin.tasks.sequence.task import SequenceTask
from toy_task import VowelTask

ROWS, BATCH = 60, 8


class Recorded:
    """As a recording does, it reads the kept inputs, whatever the batch's own say."""

    def __init__(self, work, inputs):
        self.work = work
        self.inputs = {name: tensor.clone() for name, tensor in inputs.items()}

    def __call__(self, inputs):
        for name, tensor in inputs.items():
            assert self.inputs[name].shape == tensor.shape, "a recording has one shape"
            self.inputs[name].copy_(tensor)
        return self.work(self.inputs)


class RecordingBackend(CpuBackend):
    traits = replace(CpuBackend.traits, packed_attention="kernel", captures_steps=True)

    def __init__(self) -> None:
        super().__init__()
        self.recorded: list[Recorded] = []

    def recorder(self):
        def record(work, inputs):
            self.recorded.append(Recorded(work, inputs))
            return self.recorded[-1]

        return record


def one_by_one(query, key, value, packing, scaling, dropout, window=None, causal=False, softcap=None):
    """Attention by what ``starts`` says alone, as a kernel has it."""
    one_query = len(query) == packing.rows != len(key)
    starts = packing.starts.tolist()
    parts = []
    for place in range(packing.rows if one_query else len(starts) - 1):
        tokens = slice(starts[place], starts[place + 1])
        asked = slice(place, place + 1) if one_query else tokens
        if starts[place] == starts[place + 1]:
            continue
        heads = [part.transpose(0, 1) for part in (query[asked], key[tokens], value[tokens])]
        parts.append(functional.scaled_dot_product_attention(*heads, scale=scaling).transpose(0, 1))
    return torch.cat(parts)


@pytest.fixture(autouse=True)
def kernel(monkeypatch):
    monkeypatch.setitem(networks.ATTEND, "kernel", one_by_one)


@pytest.fixture
def rows() -> Encoded:
    draw = np.random.default_rng(0)
    lengths = draw.integers(2, 20, ROWS)
    tokens = draw.integers(5, 100, lengths.sum()).astype(np.int32)
    return Encoded(tokens, None, np.concatenate([[0], np.cumsum(lengths)]), draw.integers(0, 3, ROWS))


@pytest.fixture
def model(tiny_model):
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig.from_pretrained(
        tiny_model, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=3
    )
    model = BertForSequenceClassification(config).train()
    if family_of(config)[0] is None:
        pytest.skip("transformers without the registry")
    return model


def make_step(model, rows, kind=CapturedStep, micro_batch=BATCH, task=None):
    task = task or SequenceTask()
    model = copy.deepcopy(model)
    backend = RecordingBackend()
    network = Network(
        model, backend, family=family_of(model.config)[0], packs=True, reads_one=task.reads == "first token"
    )
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 / (1 + step))
    parts = (network, optimiser, schedule, task, 1.0)
    if kind is EagerStep:
        return EagerStep(*parts)
    totals = np.array([rows.lengths[part].sum() for part in batches_of(rows, micro_batch) if len(part) == micro_batch])
    shapes = Shapes(micro_batch, few_capacities(totals), int(rows.lengths.max()))
    return CapturedStep(*parts, shapes=shapes)


def batches_of(rows, size=BATCH):
    return np.split(np.arange(len(rows)), range(size, len(rows), size))


def train(step, rows, epochs=3, micro_batch=BATCH):
    figures = []
    for _ in range(epochs):
        for batch in batches_of(rows):
            parts = np.split(batch, range(micro_batch, len(batch), micro_batch))
            loss, norm = step([step.collate(rows, part) for part in parts])
            figures.append((float(loss), float(norm), step.learning_rate))
    return np.array(figures)


@pytest.mark.parametrize("micro_batch", [BATCH, BATCH // 2])
def test_losses_norms_and_rates_are_those_of_plain_steps(model, rows, micro_batch):
    wanted = train(make_step(model, rows, EagerStep), rows)
    step = make_step(model, rows, micro_batch=micro_batch)
    found = train(step, rows, micro_batch=micro_batch)
    np.testing.assert_allclose(found, wanted, rtol=2e-5)
    assert 1 <= len(step.backend.recorded) <= 9, "few shapes, and not none"


@pytest.mark.parametrize("micro_batch", [BATCH, BATCH // 2])
def test_batches_of_one_shape_have_each_their_own_number_of_labelled_tokens(model, rows, micro_batch):
    from transformers import BertForTokenClassification

    draw = np.random.default_rng(1)
    labels = np.where(draw.random(len(rows.tokens)) < draw.random(len(rows.tokens)), NO_LABEL, rows.tokens % 3)
    rows, model = (
        replace(rows, labels=labels.astype(np.int64), per_token=True),
        BertForTokenClassification(model.config),
    )
    wanted = train(make_step(model, rows, EagerStep, task=VowelTask()), rows)
    step = make_step(model, rows, micro_batch=micro_batch, task=VowelTask())
    found = train(step, rows, micro_batch=micro_batch)
    np.testing.assert_allclose(found, wanted, rtol=2e-5)
    assert 1 <= len(step.backend.recorded) <= 9
    assert wanted[-1, 0] < wanted[0, 0], "the weights must move for the comparison to mean anything"


def test_the_first_step_of_a_shape_and_short_batches_are_plain(model, rows):
    step = make_step(model, rows)
    replayed = []
    for batch in [*batches_of(rows), *batches_of(rows)]:
        step([step.collate(rows, batch)])
        replayed.append(step.is_replay)
    assert not replayed[0]
    assert any(replayed)
    short = [place for place, batch in enumerate([*batches_of(rows)] * 2) if len(batch) < BATCH]
    assert not any(replayed[place] for place in short)


def test_evaluation_is_replayed_too(model, rows):
    network = make_step(model, rows).network
    wanted, _ = all_logits(Inference(Network(copy.deepcopy(model), CpuBackend())), rows)
    inference = Inference(network, most_rows=BATCH)
    found, batches = all_logits(inference, rows)
    assert batches == 8
    assert network.backend.recorded
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    again, _ = all_logits(inference, rows)
    np.testing.assert_allclose(again, wanted, atol=1e-6)


class Clock:
    """So much time passes with each step."""

    def __init__(self) -> None:
        self.time = self.step = 0.0

    def __call__(self) -> float:
        return self.time


def watched(model, rows, monkeypatch, total: int, before: float, after: float) -> tuple[CapturedStep, list]:
    step, clock, told = make_step(model, rows), Clock(), []
    monkeypatch.setattr(torch, "compile", lambda forward, **_: forward)
    step.compiling = Compiling(step, total, lambda name, **figures: told.append((name, figures)), clock)
    for place in range(100):
        step([step.collate(rows, batches_of(rows)[place % 7])])
        clock.time += after if step.is_compiled else before
    return step, told


def test_compiled_where_the_rest_of_the_run_repays_it(model, rows, monkeypatch):
    step, told = watched(model, rows, monkeypatch, total=2000, before=0.1, after=0.08)
    assert [name for name, _ in told] == ["compiling", "compiled"]
    assert told[0][1]["saves"] == pytest.approx(1960 * 0.1 * 0.2, rel=0.05)
    assert told[1][1]["faster"] == 1.25
    assert step.is_compiled


def test_not_compiled_where_it_does_not(model, rows, monkeypatch):
    step, told = watched(model, rows, monkeypatch, total=1000, before=0.1, after=0.08)
    assert told == []
    assert not step.is_compiled


def test_taken_back_where_it_turns_out_slower(model, rows, monkeypatch):
    step, told = watched(model, rows, monkeypatch, total=2000, before=0.1, after=0.2)
    assert told[1][1]["faster"] == 0.5
    assert not step.is_compiled
    assert step.replays.records
    train(step, rows, epochs=1)


def test_only_planned_shapes_are_compiled(model, rows, monkeypatch):
    step, compiled = make_step(model, rows), set()

    def compiler(forward, **_):
        def run(states, *arguments, **named):
            compiled.add(states.shape[1])
            return forward(states, *arguments, **named)

        return run

    monkeypatch.setattr(torch, "compile", compiler)
    step.compile()
    train(step, rows)
    assert compiled
    assert compiled <= set(step.replays.shapes.capacities), "an epoch's last batch has a shape of its own"
