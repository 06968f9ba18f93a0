"""What must hold on one device: rows do not see each other, and tokens of a causal model no later ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from verify_helpers import bert, gpt2

from pippin.commands.verify.invariants import before_a_changed_token, beside_a_longer_row, row_and_changed
from pippin.machine.drivers.cpu import CpuBackend
from pippin.models.network import Network


def test_the_second_half_of_the_row_is_changed():
    experiment = gpt2()
    twice = row_and_changed(experiment)
    row, changed = twice.tokens[: twice.offsets[1]], twice.tokens[twice.offsets[1] :]
    assert len(row) == len(changed) == 14
    assert (row != changed).tolist() == [False] * 7 + [True] * 7
    assert changed.max() < 60


def test_a_causal_model_does_not_see_later_tokens():
    experiment = gpt2()
    found = before_a_changed_token(experiment, Network(experiment.model, CpuBackend()), CpuBackend())
    assert found.agrees


@pytest.mark.parametrize("training", [False, True])
def test_a_leak_is_found_in_either_mode(training):
    experiment = gpt2()
    network = Network(experiment.placed(CpuBackend()), CpuBackend())

    def leak(module, _, output):
        if module.training == training:
            return (output[0] + 0.01 * output[0].mean(1, keepdim=True), *output[1:])
        return output

    network.model.transformer.h[0].attn.register_forward_hook(leak)
    assert not before_a_changed_token(experiment, network, CpuBackend()).agrees


def test_models_that_look_both_ways_are_not_asked(tiny_model):
    experiment = bert(tiny_model)
    assert before_a_changed_token(experiment, Network(experiment.model, CpuBackend()), CpuBackend()) is None


def test_models_that_look_both_ways_on_the_cpu_are_not_blamed(monkeypatch, tiny_model):
    """A kind of model that transformers counts among those that write, and that classifies by looking both ways."""
    monkeypatch.setattr("pippin.commands.verify.invariants.is_causal", lambda config: True)
    experiment = bert(tiny_model)
    assert before_a_changed_token(experiment, Network(experiment.model, CpuBackend()), CpuBackend()) is None


def _seeing_padding(_, arguments, named):
    return arguments, {**named, "attention_mask": torch.ones_like(named["attention_mask"])}


def test_padding_that_is_seen_is_found(tiny_model):
    experiment = bert(tiny_model)
    network = Network(experiment.placed(CpuBackend()), CpuBackend())
    assert beside_a_longer_row(experiment, network, CpuBackend(), 1e-5).agrees
    network.model.bert.register_forward_pre_hook(_seeing_padding, with_kwargs=True)
    assert not beside_a_longer_row(experiment, network, CpuBackend(), 1e-5).agrees


def test_rows_of_one_length_have_no_padding(tiny_model):
    experiment = replace(bert(tiny_model), batches=[np.arange(4)])
    network = Network(experiment.model, CpuBackend())
    assert beside_a_longer_row(experiment, network, CpuBackend(), 1e-5) is None


def test_a_model_that_reads_its_padding_everywhere_is_not_blamed(tiny_model):
    experiment = bert(tiny_model)
    experiment.model.bert.register_forward_pre_hook(_seeing_padding, with_kwargs=True)
    network = Network(experiment.placed(CpuBackend()), CpuBackend())
    assert beside_a_longer_row(experiment, network, CpuBackend(), 1e-5) is None
