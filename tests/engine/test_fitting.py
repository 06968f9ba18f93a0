"""Steps that run out of memory: done again in smaller micro-batches, from the same state, to the same end."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
import torch
from training_helpers import OUT_OF_MEMORY, SmallMemory

from helpers import events
from pippin.commands import train as training
from pippin.data.encoding import Encoded
from pippin.engine.fitting import FittingStep
from pippin.engine.steps.eager import EagerStep
from pippin.machine.drivers.cpu import CpuBackend
from pippin.models.labels import Labels
from pippin.models.loading import load_config, load_model
from pippin.models.network import Network
from pippin.models.training_mode import recompute_activations
from pippin.recipe import Recipe
from pippin.tasks.sequence.task import SequenceTask

ROWS, LENGTH = 16, 10
STEPS = [np.arange(start, start + ROWS) for start in (0, 16, 32)]


class Bench:
    """A model, its step, and all that was told."""

    def __init__(
        self,
        tiny_model,
        micro_batch: int = ROWS,
        dropout: bool = False,
        precision: str = "fp32",
        micro_tokens: int = 0,
    ):
        recipe = Recipe(model_name_or_path=str(tiny_model))
        torch.manual_seed(0)
        self.model = load_model(recipe, load_config(recipe, Labels(("a", "b", "c")))).train(dropout)
        self.told: list[tuple[str, dict]] = []
        optimiser = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        constant = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1.0)
        network = Network(self.model, CpuBackend(), precision)
        self.eager = EagerStep(network, optimiser, constant, SequenceTask(), 1.0)
        self.fitting = FittingStep(self.eager, even_rows(3 * ROWS), micro_batch, self.hear, micro_tokens)

    def hear(self, name: str, **figures) -> None:
        self.told.append((name, figures))

    def train(self) -> list[float]:
        torch.manual_seed(1)
        return [float(self.fitting(rows, number)[0]) for number, rows in enumerate(STEPS, 1)]

    @property
    def weights(self) -> torch.Tensor:
        return torch.cat([parameter.detach().flatten() for parameter in self.model.parameters()])


def even_rows(count: int) -> Encoded:
    draw = np.random.default_rng(0)
    tokens = draw.integers(5, 100, count * LENGTH).astype(np.int32)
    return Encoded(tokens, None, np.arange(count + 1) * LENGTH, draw.integers(0, 3, count))


@pytest.fixture
def bench(tiny_model):
    return lambda **settings: Bench(tiny_model, **settings)


@pytest.mark.parametrize("device", OUT_OF_MEMORY)
def test_the_same_training_in_smaller_micro_batches(bench, device):
    whole, cut = bench(), bench()
    memory = SmallMemory(5 * LENGTH, OUT_OF_MEMORY[device])
    memory.watch(cut.model)
    assert cut.train() == pytest.approx(whole.train(), abs=1e-6)
    torch.testing.assert_close(cut.weights, whole.weights, rtol=1e-4, atol=1e-5)
    assert cut.told == [("smaller_batches", {"step": 1, "rows": 8}), ("smaller_batches", {"step": 1, "rows": 4})]
    assert memory.failures == 2, "later steps are small from the start"
    assert memory.shapes == [(4, LENGTH)] * 12
    assert cut.fitting.micro_batch == 4


def test_tokens_are_those_that_were_computed(bench):
    small = bench(micro_batch=6)
    _, norm, tokens = small.fitting(STEPS[0], 1)
    assert tokens == ROWS * LENGTH
    assert norm > 0


@pytest.mark.parametrize("fitting_calls", [0, 1], ids=["first micro-batch", "after one that fitted"])
def test_random_numbers_are_those_of_a_run_that_was_small_from_the_start(bench, fitting_calls):
    """With dropout, bit for bit; what the failed attempt drew and computed leaves no trace."""
    small, cut = bench(micro_batch=4, dropout=True), bench(micro_batch=8, dropout=True)
    calls = []

    def fail_once(module, inputs, output):
        calls.append(1)
        if len(calls) == fitting_calls + 1:
            raise RuntimeError(OUT_OF_MEMORY["mps"])

    cut.model.classifier.register_forward_hook(fail_once)  # the encoder has dropped out by then
    assert cut.train() == small.train()
    assert torch.equal(cut.weights, small.weights)
    assert len(cut.told) == 1


def test_a_short_step_is_halved_by_its_own_rows(bench):
    short = bench()
    SmallMemory(2 * LENGTH).watch(short.model)
    short.fitting(np.arange(3), 7)
    assert short.told == [("smaller_batches", {"step": 7, "rows": 2})]


def test_memory_of_the_failed_attempt_is_free_before_the_next(bench):
    retried = bench()
    held: list[weakref.ref] = []
    alive: list[int] = []

    def fail_above_8_rows(module, inputs, output):
        alive.append(sum(reference() is not None for reference in held))
        alive.append(sum(parameter.grad is not None for parameter in retried.model.parameters()))
        held.extend([weakref.ref(inputs[0]), weakref.ref(output)])
        if len(output) > 8:
            raise RuntimeError(OUT_OF_MEMORY["cuda"])

    retried.model.bert.pooler.dense.register_forward_hook(fail_above_8_rows)
    retried.fitting(STEPS[0], 1)
    assert alive[:4] == [0, 0, 0, 0], "at the first attempt, and at the second"
    assert len(held) == 6


def test_one_row_that_does_not_fit_is_the_end(bench):
    hopeless = bench()
    SmallMemory(LENGTH - 1).watch(hopeless.model)
    with pytest.raises(RuntimeError, match="CUDA out of memory"):
        hopeless.fitting(STEPS[0], 1)
    assert [figures["rows"] for _, figures in hopeless.told] == [8, 4, 2, 1]


def test_activations_are_recomputed_before_it_ends(bench):
    """With dropout, bit for bit: what is computed again draws the same random numbers."""
    plain, narrow = bench(micro_batch=1, dropout=True), bench(micro_batch=4, dropout=True)
    recomputes = []

    def recompute() -> bool:
        if recomputes:
            return False
        recomputes.append(1)
        return recompute_activations(narrow.model, None, CpuBackend())

    def fail_before(*_: object) -> None:
        if not recomputes:
            raise RuntimeError(OUT_OF_MEMORY["mps"])

    narrow.fitting.recompute = recompute
    narrow.model.classifier.register_forward_hook(fail_before)
    assert narrow.train() == plain.train()
    assert torch.equal(narrow.weights, plain.weights)
    assert [(name, figures.get("rows")) for name, figures in narrow.told] == [
        ("smaller_batches", 2),
        ("smaller_batches", 1),
        ("recomputing", None),
    ]


def test_tokens_at_once(bench):
    few = bench(micro_tokens=4 * LENGTH)
    memory = SmallMemory(1000)
    memory.watch(few.model)
    few.train()
    assert memory.shapes == [(4, LENGTH)] * 12
    uneven = Encoded(np.zeros(100, np.int32), None, np.array([0, 2, 4, 6, 100]), np.zeros(4, np.int64))
    few.fitting.encoded = uneven
    assert [len(part) for part in few.fitting._parts(np.arange(4))] == [2, 2], "equal parts, whatever they weigh"


def test_other_errors_are_not_tried_again(bench):
    broken = bench()
    memory = SmallMemory(0, "an operator is missing")
    memory.watch(broken.model)
    with pytest.raises(RuntimeError, match="operator is missing"):
        broken.fitting(STEPS[0], 1)
    assert (memory.failures, broken.told) == (1, [])


def test_an_update_that_runs_out_of_memory_is_not_tried_again(bench, monkeypatch):
    """Some weights may have changed already."""
    half = bench()
    calls = []

    def fail(*arguments: object) -> None:
        calls.append(1)
        raise RuntimeError(OUT_OF_MEMORY["cuda"])

    monkeypatch.setattr(half.eager.optimiser, "step", fail)
    with pytest.raises(RuntimeError, match="CUDA out of memory"):
        half.fitting(STEPS[0], 1)
    assert (len(calls), half.told, half.fitting.micro_batch) == (1, [], ROWS)


def test_the_loss_scaler_starts_the_step_again(bench, monkeypatch):
    scaled = bench(precision="fp16")
    clip, failed = torch.nn.utils.clip_grad_norm_, []

    def fail_once(*arguments):
        if not failed:
            failed.append(1)
            raise RuntimeError(OUT_OF_MEMORY["cuda"])
        return clip(*arguments)

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", fail_once)
    scaled.eager.scaler.load_state_dict({**scaled.eager.scaler.state_dict(), "scale": 1024.0, "_growth_tracker": 7})
    scaled.fitting(STEPS[0], 1)
    state = scaled.eager.scaler.state_dict()
    assert (state["scale"], state["_growth_tracker"], len(scaled.told)) == (1024.0, 8, 1)


@pytest.mark.parametrize("device", OUT_OF_MEMORY)
def test_a_whole_job_goes_on(train, word_file, monkeypatch, device):
    flags = ["--do_train", "--per_device_train_batch_size", 32, "--use_cpu"]
    _, expected = train(word_file, *flags, folder="roomy", steps=6)
    memory = SmallMemory(100, OUT_OF_MEMORY[device])
    load = training.load_model
    monkeypatch.setattr(training, "load_model", lambda *arguments: memory.watch(load(*arguments)))
    out, results = train(word_file, *flags, steps=6)
    told = [event["rows"] for event in events("run", "smaller_batches")]
    assert told
    assert told == sorted(set(told), reverse=True)
    assert f"at most {told[-1]} rows go through the model at once" in " ".join(out.split())
    assert results["train_loss"] == pytest.approx(expected["train_loss"], rel=0.1), "other dropout, the same job"


def test_a_whole_job_goes_on_with_recomputed_activations(train, word_file, monkeypatch):
    load = training.load_model

    def watched(*arguments: object) -> torch.nn.Module:
        model = load(*arguments)

        def fail_while_all_is_kept(*_: object) -> None:
            if model.training and model.bert.checkpointing is None:
                raise RuntimeError(OUT_OF_MEMORY["cuda"])

        model.classifier.register_forward_hook(fail_while_all_is_kept)
        return model

    monkeypatch.setattr(training, "load_model", watched)
    out, results = train(word_file, "--do_train", "--per_device_train_batch_size", 4, "--use_cpu", steps=3)
    assert [event["step"] for event in events("run", "recomputing")] == [1]
    assert "activations are recomputed in the backward pass" in " ".join(out.split())
    assert results["train_loss"] > 0
