"""Logits of every row in its place, and few batch shapes on devices that need them."""

from __future__ import annotations

import random
import weakref
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from answers import all_logits
from training_helpers import OUT_OF_MEMORY, SmallMemory

from helpers import FILLER, WORDS, events, with_traits
from pippin.commands import train as training
from pippin.data.batches import evaluation_shapes
from pippin.data.encoding import Encoded
from pippin.engine.inference import MOST_ROWS, Inference
from pippin.machine.drivers.cpu import CpuBackend
from pippin.models.labels import Labels
from pippin.models.loading import load_config, load_model
from pippin.models.network import Network
from pippin.recipe import Recipe
from pippin.runs.record import read_record

Shape = tuple[int, ...]
BUDGET = 512


@dataclass
class Seen:
    """The shapes of the inputs that a device was shown."""

    training: set[Shape] = field(default_factory=set)
    evaluation: set[Shape] = field(default_factory=set)


class RecordingBackend(CpuBackend):
    traits = replace(CpuBackend.traits, evaluation_tokens=BUDGET)

    def __init__(self) -> None:
        super().__init__()
        self.seen = Seen()

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        record(self.seen, tensor)
        return tensor


def record(seen: Seen, tensor: torch.Tensor) -> None:
    if tensor.dim() == 2:
        (seen.evaluation if torch.is_inference_mode_enabled() else seen.training).add(tuple(tensor.shape))


@pytest.fixture
def seen(monkeypatch) -> Seen:
    """The CPU as a device that needs few shapes, and what it was shown."""
    shapes = Seen()

    def to_device(self: CpuBackend, tensor: torch.Tensor) -> torch.Tensor:
        record(shapes, tensor)
        return tensor

    with_traits(monkeypatch, CpuBackend, shape_limit=8, packed_attention=None, evaluation_tokens=BUDGET)
    monkeypatch.setattr(CpuBackend, "to_device", to_device)
    return shapes


@pytest.fixture
def model(tiny_model):
    recipe = Recipe(model_name_or_path=str(tiny_model))
    torch.manual_seed(0)
    return load_model(recipe, load_config(recipe, Labels(("a", "b", "c"))))


def random_rows(count: int, longest: int = 64) -> Encoded:
    draw = np.random.default_rng(count)
    lengths = draw.integers(3, longest + 1, count)
    tokens = draw.integers(5, 100, lengths.sum()).astype(np.int32)
    return Encoded(tokens, None, np.concatenate([[0], np.cumsum(lengths)]), draw.integers(0, 3, count))


def words_of_all_lengths(count: int, seed: int) -> list[dict[str, str]]:
    """Sentences of 3 to 62 words."""
    draw = random.Random(seed)
    rows = []
    for label in draw.choices(list(WORDS), k=count):
        words = [*draw.choices(FILLER, k=draw.randint(2, 61)), draw.choice(WORDS[label])]
        rows.append({"text": " ".join(words), "label": label})
    return rows


def all_shapes(pad_lengths: tuple[int, ...], most_rows: int = MOST_ROWS) -> set[Shape]:
    """Every shape that evaluations may show to a device of this token budget."""
    return {
        (size, width) for width, sizes in evaluation_shapes(pad_lengths, most_rows, BUDGET).items() for size in sizes
    }


@pytest.mark.parametrize("pad_lengths", [(64,), (9, 20, 33, 64), (5, 11)])
@pytest.mark.parametrize("most_rows", [None, 1, 5])
def test_few_shapes_give_the_same_logits(model, pad_lengths, most_rows):
    for count in (1, 2, 37, 150):
        encoded = random_rows(count)
        expected, _ = all_logits(Inference(Network(model, CpuBackend()), most_rows), encoded)
        told: list[int] = []
        found, batches = all_logits(
            Inference(Network(model, CpuBackend(), pad_lengths=pad_lengths), most_rows), encoded, told.append
        )
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert len(told) == batches
        assert sum(told) == count, "rows that only fill a batch are not counted"


def test_the_number_of_shapes_is_bounded_over_any_number_of_splits(model):
    lengths = (8, 16, 24, 32, 40, 48, 56, 64)
    free, bounded = RecordingBackend(), RecordingBackend()
    for count in range(1, 120, 3):
        encoded = random_rows(count, longest=10 + count % 55)
        expected, _ = all_logits(Inference(Network(model, free)), encoded)
        found, _ = all_logits(Inference(Network(model, bounded, pad_lengths=lengths)), encoded)
        np.testing.assert_allclose(found, expected, atol=1e-5)
    assert bounded.seen.evaluation <= all_shapes(lengths)
    assert len(all_shapes(lengths)) <= 3 * len(lengths)
    assert len(free.seen.evaluation) > len(all_shapes(lengths)), "else this test shows nothing"


def test_a_device_without_limit_gets_no_filled_batches(model):
    backend = RecordingBackend()
    encoded = random_rows(50)
    all_logits(Inference(Network(model, backend)), encoded)
    assert sum(rows for rows, _ in backend.seen.evaluation) == 50
    assert max(width for _, width in backend.seen.evaluation) == encoded.lengths.max()


def test_a_whole_job_shows_few_shapes(train, write_rows, seen):
    files = []
    for name, count in [("train", 203), ("validation", 61), ("test", 90)]:
        files += [f"--{name}_file", write_rows(f"{name}.csv", words_of_all_lengths(count, seed=count))]
    batches = ["--per_device_train_batch_size", 8, "--gradient_accumulation_steps", 2]
    train(*files, *batches, "--do_train", "--do_eval", "--do_predict", "--num_train_epochs", 6, "--use_cpu")
    planned = pad_lengths("run")
    assert len(planned) == 8
    assert {width for _, width in seen.training} == set(planned)
    assert {rows for rows, _ in seen.training} == {8, 203 % 8}
    assert len(seen.training) <= 2 * len(planned)
    assert seen.evaluation <= all_shapes(planned)
    assert len(all_shapes(planned)) <= 3 * len(planned)


def test_a_job_without_training_shows_few_shapes(train, run_cli, write_rows, seen, word_file):
    train(word_file, "--use_cpu", steps=1, folder="first")
    seen.evaluation.clear()
    files = []
    for name, count in [("validation", 150), ("test", 90)]:
        files += [f"--{name}_file", write_rows(f"{name}.csv", words_of_all_lengths(count, seed=count))]
    asked = ["--do_eval", "--do_predict", "--per_device_eval_batch_size", 20, "--use_cpu"]
    code, _, err = run_cli("train", *files, *asked, "--model_name_or_path", "first", "--output_dir", "second")
    assert code == 0, err
    planned = pad_lengths("second")
    assert len(planned) == 8
    assert seen.evaluation <= all_shapes(planned, most_rows=20)


def pad_lengths(folder: str) -> tuple[int, ...]:
    run = read_record(Path(folder))
    assert run is not None
    return run.plan.batches.pad_lengths.value


@pytest.mark.parametrize("device", OUT_OF_MEMORY)
@pytest.mark.parametrize("pad_lengths", [(), (16, 32, 64)])
def test_out_of_memory_gives_the_same_logits_in_smaller_batches(model, device, pad_lengths):
    encoded = random_rows(150)
    expected, batches = all_logits(Inference(Network(model, RecordingBackend(), pad_lengths=pad_lengths)), encoded)
    memory = SmallMemory(150, OUT_OF_MEMORY[device])
    memory.watch(model)
    told: list[str] = []
    counted: list[int] = []
    inference = Inference(Network(model, RecordingBackend(), pad_lengths=pad_lengths), notice=told.append)
    found, more_batches = all_logits(inference, encoded, counted.append)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert told == ["smaller_evaluation_batches"]
    assert (sum(counted), len(counted)) == (150, more_batches)
    assert more_batches > batches
    assert 0 < memory.failures <= 3

    failures = memory.failures
    memory.shapes.clear()
    again, _ = all_logits(inference, encoded)
    np.testing.assert_allclose(again, expected, atol=1e-5)
    assert memory.failures == failures, "later batches stay small"
    assert inference.fitting_tokens is not None
    assert 75 <= inference.fitting_tokens <= 150, "no smaller than they must be"
    if pad_lengths:
        ladder = evaluation_shapes(pad_lengths, MOST_ROWS, inference.fitting_tokens)
        assert set(memory.shapes) <= {(size, width) for width, sizes in ladder.items() for size in sizes}


def test_memory_of_a_failed_batch_is_free_before_the_next(model):
    held: list[weakref.ref] = []
    alive: list[int] = []

    def fail_above_4_rows(module, inputs, output):
        alive.append(sum(reference() is not None for reference in held))
        held[:] = [weakref.ref(inputs[0]), weakref.ref(output)]
        if len(output) > 4:
            raise RuntimeError(OUT_OF_MEMORY["mps"])

    model.bert.pooler.dense.register_forward_hook(fail_above_4_rows)
    all_logits(Inference(Network(model, CpuBackend())), random_rows(20))
    assert set(alive) == {0}


def test_a_row_that_does_not_fit_and_other_errors_are_the_end(model):
    memory = SmallMemory(20)
    memory.watch(model)
    with pytest.raises(RuntimeError, match="CUDA out of memory"):
        all_logits(Inference(Network(model, CpuBackend())), random_rows(40))
    memory.failures, memory.words = 0, "an operator is missing"
    with pytest.raises(RuntimeError, match="operator is missing"):
        all_logits(Inference(Network(model, CpuBackend())), random_rows(40))
    assert memory.failures == 1


def test_a_job_and_a_prediction_say_it_once(train, run_cli, word_file, monkeypatch):
    from pippin.commands import predictor

    flags = ["--do_train", "--do_eval", "--per_device_train_batch_size", 4, "--eval_strategy", "steps"]
    _, expected = train(word_file, *flags, "--eval_steps", 2, "--use_cpu", folder="roomy")
    code, labels, err = run_cli("predict", "roomy", "--file", word_file, "--device", "cpu")
    assert (code, "memory" in err) == (0, False)
    for module in (training, predictor):
        load = module.load_model
        monkeypatch.setattr(module, "load_model", lambda *a, load=load: SmallMemory(64).watch(load(*a)))
    out, results = train(word_file, *flags, "--eval_steps", 2, "--use_cpu")
    assert results["eval_loss"] == pytest.approx(expected["eval_loss"], abs=1e-6)
    assert len(events("run", "smaller_evaluation_batches")) == 1
    assert out.count("memory ran out during an evaluation") == 1
    code, same_labels, err = run_cli("predict", "roomy", "--file", word_file, "--device", "cpu")
    assert code == 0, err
    assert [row.rpartition(",")[0] for row in same_labels.split()] == [row.rpartition(",")[0] for row in labels.split()]
    assert err.count("memory ran out") == 1
