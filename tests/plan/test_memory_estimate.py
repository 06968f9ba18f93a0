"""The estimate of a step's memory, against what torch really keeps."""

from __future__ import annotations

import gc
from dataclasses import replace

import numpy as np
import pytest
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
)

from pippin.data.encoding import Encoded
from pippin.engine.network import make_network
from pippin.engine.steps.eager import EagerStep
from pippin.machine.drivers import get_backend
from pippin.models.facts import ModelSize, facts_of
from pippin.models.network import Network
from pippin.models.training_mode import prepare_for_training
from pippin.plan.memory import StepSize, estimate
from pippin.tasks.sequence.task import SequenceTask

SIZES = {"hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 256}
ACTIVATIONS = ("embeddings", "layers", "attention scores", "head")


def made(device: str, layout: str, precision: str = "fp32", recomputes: bool = False, **settings) -> Network:
    config = BertConfig(vocab_size=500, **SIZES, **settings)
    backend = get_backend(device)
    model = backend.place(BertForSequenceClassification(config)).train()
    network = make_network(model, backend, precision, layout, "first tokens", ())
    prepare_for_training(model, backend, recomputes)
    return network


def even_rows(count: int, length: int) -> Encoded:
    tokens = np.random.default_rng(0).integers(5, 400, count * length).astype(np.int32)
    return Encoded(tokens, None, np.arange(count + 1) * length, np.zeros(count, dtype=np.int64))


def kept_for_backward(network: Network, rows: int, length: int) -> int:
    weights = {parameter.untyped_storage().data_ptr() for parameter in network.model.parameters()}
    kept = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = (storage.nbytes(), tensor)  # held, lest another takes its place
        return tensor

    batch = network.collate(even_rows(rows, length), np.arange(rows))
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        network.logits(batch)
    return sum(size for size, _ in kept.values())


@pytest.mark.parametrize(
    "model",
    [
        BertForSequenceClassification(BertConfig(vocab_size=500, num_labels=3, **SIZES)),
        DistilBertForSequenceClassification(
            DistilBertConfig(vocab_size=500, num_labels=3, dim=64, n_layers=4, n_heads=4, hidden_dim=256)
        ),
    ],
    ids=lambda model: model.config.model_type,
)
def test_numbers_in_a_model(model):
    count = sum(parameter.numel() for parameter in model.parameters())
    size = facts_of(model.config, 3).size
    assert size.weights == pytest.approx(count, rel=0.005)
    assert (size.layers, size.width, size.inner, size.heads, size.attention_dropout) == (4, 64, 256, 4, 0.1)


def test_nothing_is_told_of_a_model_without_sizes():
    assert facts_of(object(), 2).size is None


@pytest.mark.parametrize(
    ("layout", "settings"),
    [
        ("packed", {}),
        ("padded", {}),
        ("packed", {"attention_probs_dropout_prob": 0.0}),
        ("packed", {"hidden_dropout_prob": 0.0}),
    ],
    ids=["packed", "padded", "without dropout of attention", "without dropout"],
)
@pytest.mark.parametrize(("rows", "length"), [(8, 16), (4, 60)])
def test_what_the_backward_pass_keeps(layout, settings, rows, length):
    network = made("cpu", layout, **settings)
    size = facts_of(network.model.config, 2).size
    step = StepSize(rows, rows * length, rows * length**2, keeps_scores=size.attention_dropout > 0, first_tokens=True)
    parts = estimate(size, step).parts
    assert sum(parts[name] for name in ACTIVATIONS) == pytest.approx(kept_for_backward(network, rows, length), rel=0.06)


@pytest.mark.emulated_mps
@pytest.mark.parametrize("rows", [4, 16])
@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("recomputes", [False, True], ids=["kept", "recomputed"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_most_that_a_step_holds(mps, rows, parts, recomputes, precision):
    gc.collect()
    torch.mps.empty_cache()
    before = mps.memory().allocated
    network = made("mps", "padded", precision, recomputes)
    optimiser = torch.optim.AdamW(network.model.parameters(), fused=True)
    constant = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1.0)
    step = EagerStep(network, optimiser, constant, SequenceTask(), 1.0)
    encoded = even_rows(rows * parts, 64)
    batches = [network.collate(encoded, np.arange(part * rows, (part + 1) * rows)) for part in range(parts)]
    step(batches)  # the moments are there from now on
    mps.reset_peak()
    step(batches)
    measured = mps.memory().peak - before
    asked = StepSize(
        rows, rows * 64, rows * 64**2, parts, mixed=precision == "bf16", first_tokens=True, recomputes=recomputes
    )
    assert measured * 0.97 <= estimate(facts_of(network.model.config, 2).size, asked).total <= measured * 1.15


BERT = ModelSize(layers=12, width=768, inner=3072, heads=12, vocabulary=30522)
BATCH = StepSize(32, 32 * 128, 32 * 128**2)


def test_bert_base_at_batch_32():
    assert BERT.weights == 109_483_778
    assert estimate(BERT, BATCH).total / 2**30 == pytest.approx(4.7, abs=0.1)


def total(**changes) -> int:
    return estimate(BERT, replace(BATCH, **changes)).total


def test_each_measure_saves():
    small = {"rows": 4, "tokens": 512, "pairs": 4 * 128**2, "micro_batches": 8}
    assert total(**small) < 0.5 * total()
    assert total(recomputes=True) < 0.6 * total()
    assert total(mixed=True) < total()
    assert total(keeps_scores=False, mask_bytes=1) < 0.8 * total()
    assert total(first_tokens=True) < total()
    assert total(updates_in_backward=True) == total(), "the peak comes before the first gradient"
    one_row = {"rows": 1, "tokens": 128, "pairs": 128**2}
    assert total(**one_row) - total(**one_row, updates_in_backward=True) > 250 * 2**20
    assert total(half_state=True) == total() - 4 * BERT.weights
    assert total(optimiser="sgd") == total() - 8 * BERT.weights
    assert total(trained_words=5000) == total() - 8 * (30522 - 5000) * 768
    assert total(copies_state=True) == total() + 12 * BERT.weights


def test_frozen_layers_need_no_state_and_keep_nothing():
    half, core = estimate(BERT, replace(BATCH, frozen_layers=6)), estimate(BERT, replace(BATCH, frozen_layers=12))
    assert half.parts["embeddings"] == 0
    assert half.parts["layers"] == pytest.approx(estimate(BERT, BATCH).parts["layers"] / 2)
    assert half.parts["optimiser state"] == 8 * (6 * BERT.layer + BERT.head)
    assert core.total == pytest.approx(4 * BERT.weights, rel=0.03)
    assert estimate(BERT, replace(BATCH, frozen_layers=0)).parts["embeddings"] == 0
