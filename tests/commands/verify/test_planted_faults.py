"""Faults planted into the emulated Apple GPU are each caught, and located in the module that has them."""

from __future__ import annotations

import pytest
import torch
from verify_helpers import bert, by_name, gpt2, wrong_ones

from pippin.commands.verify.compare import compare
from pippin.commands.verify.measurement import Experiment
from pippin.commands.verify.verdict import EVALUATION, GRADIENTS, LATER, STEP, TRAINING, Finding
from pippin.commands.verify.walk import located
from pippin.machine.drivers.cpu import CpuBackend
from pippin.machine.drivers.mps import MpsBackend

pytestmark = pytest.mark.emulated_mps


class Unguarded(MpsBackend):
    """Without what Pippin does about known faults."""

    def guard(self, model):
        pass


def findings_of(experiment: Experiment, precision: str = "fp32", device: MpsBackend | None = None) -> list[Finding]:
    device = device or MpsBackend()
    findings = compare(experiment, CpuBackend(), device, precision)
    return located(findings, experiment, CpuBackend(), device, precision)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_a_sound_device_agrees(tiny_model, precision):
    assert wrong_ones(findings_of(bert(tiny_model), precision)) == []


def test_a_sound_device_agrees_on_a_model_that_looks_back(mps):
    with mps.pretend(known_bugs=False):
        findings = findings_of(gpt2(), "bf16")
    assert wrong_ones(findings) == []
    assert LATER in by_name(findings)


@pytest.mark.parametrize(("precision", "factor"), [("fp32", 1.001), ("bf16", 1.1), ("fp16", 1.1)])
def test_a_wrong_activation(mps, tiny_model, precision, factor):
    with mps.wrong("aten::gelu", lambda result: result * factor):
        found = by_name(findings_of(bert(tiny_model), precision))
    for name in (EVALUATION, TRAINING, GRADIENTS):
        assert not found[name].agrees
        assert found[name].module == "bert.encoder.layer.0.intermediate.intermediate_act_fn"


def test_a_wrong_product(mps, tiny_model):
    with mps.wrong("aten::linear", lambda result: result * 1.01):
        found = by_name(findings_of(bert(tiny_model)))
    assert not found[TRAINING].agrees
    assert found[TRAINING].module == "bert.encoder.layer.0.attention.self.query"


def test_a_wrong_product_of_one_shape(mps, tiny_model):
    """The kernel is right for all layers but the one that makes the hidden states narrow again."""

    def change(result: torch.Tensor) -> torch.Tensor:
        return result * 1.01 if result.shape[-1] == 64 else result

    with mps.wrong("aten::linear", change):
        found = by_name(findings_of(bert(tiny_model)))
    assert found[EVALUATION].module == "bert.encoder.layer.0.intermediate.dense"


def test_a_wrong_gradient(mps, tiny_model):
    """Seen where the backward pass meets it first, so in the last layer; forward all is right."""
    with mps.wrong("aten::gelu_backward", lambda result: result * 1.01):
        findings = findings_of(bert(tiny_model))
    assert wrong_ones(findings) == [GRADIENTS]
    assert by_name(findings)[GRADIENTS].module == "bert.encoder.layer.1.intermediate.intermediate_act_fn"


def test_a_lost_write_of_the_optimiser(mps, tiny_model):
    experiment = bert(tiny_model)
    with mps.lost_write("aten::addcdiv_"), mps.lost_write("aten::_foreach_addcdiv_.ScalarList"):
        findings = findings_of(experiment)
    assert wrong_ones(findings) == [STEP]
    found = by_name(findings)[STEP]
    assert found.worst in dict(experiment.model.named_parameters())
    assert found.module == ""


def test_a_lost_write_in_the_model(mps, tiny_model):
    class Adding(torch.nn.Module):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return states.clone().add_(torch.ones_like(states))

    experiment = bert(tiny_model)
    experiment.model.dropout = Adding()
    with mps.lost_write("aten::add_.Tensor"):
        found = by_name(findings_of(experiment))
    assert not found[EVALUATION].agrees
    assert found[EVALUATION].module == "dropout"


def _with_frozen_embeddings(folder) -> Experiment:
    experiment = bert(folder)
    for name, module in experiment.model.bert.embeddings.named_children():
        if name != "LayerNorm":
            module.requires_grad_(False)
    return experiment


def test_garbage_gradients_of_norms(mps, tiny_model):
    with mps.pretend(release="2.12.0"):
        findings = findings_of(_with_frozen_embeddings(tiny_model), device=Unguarded())
    assert wrong_ones(findings) == [GRADIENTS]
    found = by_name(findings)[GRADIENTS]
    assert found.worst.startswith("bert.embeddings.LayerNorm")
    assert found.module == "bert.embeddings.LayerNorm"


def test_the_guard_mends_the_gradients_of_norms(mps, tiny_model):
    with mps.pretend(release="2.12.0"):
        assert wrong_ones(findings_of(_with_frozen_embeddings(tiny_model))) == []


def test_causal_attention_that_sees_what_comes_later(mps):
    """In half precision, without gradients: evaluation leaks, training does not."""
    with mps.pretend(release="2.14.0"):
        found = by_name(findings_of(gpt2(), "bf16"))
    assert not found[LATER].agrees
    assert found[LATER].module == "transformer.h.0.attn"
