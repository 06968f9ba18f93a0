"""A frozen part: what belongs to it, that it stays as it is, and that its states stand for it."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from test_network import CONFIGS, ENCODERS, logits_and_gradients, model_of, rows_for, supported
from transformers import AlbertConfig, GPT2Config

from helpers import some_plan
from pippin.engine.features import freeze
from pippin.errors import PippinError
from pippin.machine.drivers.cpu import CpuBackend
from pippin.models.families import family_of
from pippin.models.freezing import FrozenPart
from pippin.models.network import Network
from pippin.plan.frozen import IN_MEMORY, NOT_KEPT

LENGTHS = [5, 19, 2, 12, 12, 3, 30, 7]
EVERY_PART = ("core", "0", "1", "3")


def frozen_network(model, frozen: str, keep: str, kind: str) -> Network:
    network = Network(model, CpuBackend(), family=family_of(model.config)[0], packs=kind == "packed")
    freeze(network, some_plan(frozen=frozen, states=keep))
    return network


def trained(model) -> set[str]:
    return {name for name, parameter in model.named_parameters() if parameter.requires_grad}


def test_what_is_trained():
    model = model_of(CONFIGS["bert"])
    FrozenPart(model, 2)
    assert trained(model) == {
        name
        for name, _ in model.named_parameters()
        if name.startswith(("bert.encoder.layer.2.", "bert.pooler", "classifier"))
    }
    model = model_of(CONFIGS["bert"])
    FrozenPart(model, None)
    assert trained(model) == {"classifier.weight", "classifier.bias"}
    model = model_of(CONFIGS["electra"])
    FrozenPart(model, 0)
    assert "electra.embeddings_project.weight" not in trained(model)
    assert "electra.encoder.layer.0.output.dense.weight" in trained(model)


def test_the_frozen_part_never_drops_out_and_the_rest_does():
    model = model_of(CONFIGS["bert"])
    FrozenPart(model, 1)
    model.train()
    assert not any(module.training for module in model.bert.encoder.layer[0].modules())
    assert not any(module.training for module in model.bert.embeddings.modules())
    assert model.bert.encoder.layer[1].training
    assert model.dropout.training
    model.eval()
    assert not model.dropout.training


@supported
@pytest.mark.parametrize("frozen", EVERY_PART)
@pytest.mark.parametrize("kind", ["packed", "padded"])
@pytest.mark.parametrize("name", ENCODERS)
def test_states_stand_for_the_frozen_part(name, kind, frozen):
    """Logits, and the gradients of what is trained, are those of the model itself."""
    model, rows = model_of(CONFIGS[name]), rows_for(CONFIGS[name], LENGTHS)
    wanted, wanted_gradients = logits_and_gradients(Network(copy.deepcopy(model), CpuBackend()), rows)
    for keep in (NOT_KEPT, IN_MEMORY):
        network = frozen_network(copy.deepcopy(model), frozen, keep, kind)
        before = copy.deepcopy(network.model.state_dict())
        found, gradients = logits_and_gradients(network, rows)
        torch.testing.assert_close(found, wanted, atol=2e-6, rtol=0)
        assert gradients.keys() == trained(network.model)
        for each, gradient in gradients.items():
            torch.testing.assert_close(gradient, wanted_gradients[each], atol=1e-6, rtol=1e-4, msg=each)
        assert list(network.model.state_dict()) == list(before), "the model is whole again after a batch"


@supported
@pytest.mark.parametrize("frozen", EVERY_PART)
@pytest.mark.parametrize("name", ENCODERS)
def test_rows_beside_it_do_not_change_a_row_by_a_bit(name, frozen):
    """Else a run that keeps states would differ from one that computes them anew in each batch."""
    model, rows = model_of(CONFIGS[name]), rows_for(CONFIGS[name], LENGTHS)
    kept, anew = (frozen_network(copy.deepcopy(model), frozen, keep, "packed") for keep in (IN_MEMORY, NOT_KEPT))
    for chosen in ([0], [3], [3, 1, 2], [6, 4], [7, 6, 5, 4, 3, 2, 1, 0]):
        first, second = (network.collate(rows, np.array(chosen)) for network in (kept, anew))
        assert first.rows.tolist() == second.rows.tolist()
        assert torch.equal(first.hidden_states, second.hidden_states)


@supported
def test_what_follows_is_not_run_for_the_states():
    network = frozen_network(model_of(CONFIGS["bert"]), "1", NOT_KEPT, "packed")
    ran = []
    for number, layer in enumerate(network.model.bert.encoder.layer):
        layer.register_forward_hook(lambda *_, number=number: ran.append(number))
    batch = network.collate(rows_for(CONFIGS["bert"], LENGTHS), np.arange(8))
    assert ran == [0]
    network.logits(batch)
    assert ran == [0, 1, 2]


@supported
def test_an_error_leaves_the_model_whole():
    network = frozen_network(model_of(CONFIGS["bert"]), "1", IN_MEMORY, "packed")
    batch = network.collate(rows_for(CONFIGS["bert"], LENGTHS), np.arange(8))
    layers = list(network.model.bert.encoder.layer)
    network.run = lambda *_: 1 / len(network.model.bert.encoder.layer[2:])
    with pytest.raises(ZeroDivisionError):  # within, two of three layers are left
        network.logits(batch)
    assert list(network.model.bert.encoder.layer) == layers
    assert "forward" not in vars(network.model.bert.embeddings)


def test_models_without_states_are_frozen_all_the_same():
    config = GPT2Config(n_embd=32, n_layer=3, n_head=4, vocab_size=200, num_labels=4, pad_token_id=0)
    model = model_of(config)
    network = Network(model, CpuBackend())
    freeze(network, some_plan(frozen="1", states=NOT_KEPT))
    assert network.frozen is None
    assert not model.transformer.h[0].train().training
    assert not model.transformer.wte.weight.requires_grad
    assert model.transformer.h[1].ln_1.weight.requires_grad


def test_layers_that_cannot_be_told_apart():
    sizes = {"embedding_size": 16, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
    config = AlbertConfig(**sizes, num_hidden_layers=3, vocab_size=200, num_labels=4)
    with pytest.raises(PippinError, match="--freeze core"):
        FrozenPart(model_of(config), 1)
    model = model_of(config)
    FrozenPart(model, None)
    assert trained(model) == {"classifier.weight", "classifier.bias"}
