"""Switches of training mode: checkpointing that gives the same gradients, and noise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification

from pippin.data.encoding import Encoded
from pippin.engine.network import make_network
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.models.labels import Labels
from pippin.models.loading import load_config, load_model
from pippin.models.plain_bert.model import PlainBert
from pippin.models.training_mode import add_noise_to_embeddings, checkpointing_settings, prepare_for_training
from pippin.recipe import Recipe

INPUTS = {"input_ids": torch.arange(5, 45).reshape(4, 10), "attention_mask": torch.ones(4, 10, dtype=torch.long)}


class DeviceDropout(torch.nn.Module):
    """Dropout from a generator of its own, as on a device whose random state torch's checkpoint() does not keep."""

    p = 0.0  # what attention asks for; it would draw from torch's own generator

    def __init__(self, generator: torch.Generator):
        super().__init__()
        self.generator = generator

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs * torch.empty_like(inputs).bernoulli_(0.9, generator=self.generator) / 0.9


@pytest.fixture
def generator(monkeypatch) -> torch.Generator:
    made = torch.Generator()
    monkeypatch.setattr(torch.mps, "get_rng_state", made.get_state)
    monkeypatch.setattr(torch.mps, "set_rng_state", made.set_state)
    return made


def gradient(tiny_model, generator: torch.Generator, device: str, **settings) -> torch.Tensor:
    recipe = Recipe(model_name_or_path=str(tiny_model), **settings)
    torch.manual_seed(0)
    model = load_model(recipe, load_config(recipe, Labels(("a", "b")))).train()
    for module in model.modules():
        for name, child in module.named_children():
            if isinstance(child, torch.nn.Dropout):
                setattr(module, name, DeviceDropout(generator))
    prepare_for_training(
        model,
        get_backend(device),
        recipe.gradient_checkpointing,
        recipe.gradient_checkpointing_kwargs,
        recipe.neftune_noise_alpha,
    )
    generator.manual_seed(3)
    torch.manual_seed(3)
    model(**INPUTS).logits.square().sum().backward()
    return torch.cat([weight.grad.flatten() for weight in model.parameters()])


def test_checkpointed_gradient_equals_the_plain_one(tiny_model, generator):
    plain = gradient(tiny_model, generator, "mps")
    checkpointed = gradient(tiny_model, generator, "mps", gradient_checkpointing=True)
    torch.testing.assert_close(checkpointed, plain, rtol=1e-6, atol=1e-8)
    unguarded = gradient(tiny_model, generator, "cpu", gradient_checkpointing=True)
    assert not torch.allclose(unguarded, plain), "this device needs the guard"


@pytest.mark.parametrize("layout", ["packed", "padded"])
@pytest.mark.parametrize("plain", [True, False], ids=["plain BERT", "of transformers"])
def test_recomputed_gradient_equals_the_kept_one_bit_for_bit(tiny_model, layout, plain):
    """With dropout, and a last layer that is computed for first tokens only."""
    draw = np.random.default_rng(0)
    tokens, offsets = draw.integers(5, 100, 40).astype(np.int32), np.array([0, 7, 12, 30, 40])
    rows = Encoded(tokens, None, offsets, np.zeros(4, np.int64))
    found = []
    for recomputes in (False, True):
        config = BertConfig.from_pretrained(tiny_model)
        recipe = Recipe(model_name_or_path=str(tiny_model))
        torch.manual_seed(0)
        if plain:
            model = load_model(recipe, load_config(recipe, Labels(("a", "b"))))
            assert isinstance(model, PlainBert)
        else:
            model = BertForSequenceClassification(config)
        backend = get_backend("cpu")
        network = make_network(model, backend, "fp32", layout, "first tokens", ())
        prepare_for_training(model, backend, recomputes, recipe.gradient_checkpointing_kwargs)
        torch.manual_seed(3)
        network.logits(network.collate(rows, np.arange(4)))  # not in training: nothing is recomputed
        model.train()
        network.logits(network.collate(rows, np.arange(4))).square().sum().backward()
        found.append(torch.cat([weight.grad.flatten() for weight in model.parameters()]))
    assert torch.equal(*found)


def test_checkpointing_settings():
    cpu, mac = get_backend("cpu"), get_backend("mps")
    assert checkpointing_settings({}, cpu) == {"use_reentrant": False}
    assert checkpointing_settings({"use_reentrant": True}, cpu) == {"use_reentrant": True}
    assert checkpointing_settings({"determinism_check": "none"}, mac) == {
        "use_reentrant": False,
        "determinism_check": "none",
        "context_fn": mac.checkpoint_contexts(),
    }
    for name in ("use_reentrant", "debug"):
        with pytest.raises(PippinError, match=f"{name} true.*Leave it out"):
            checkpointing_settings({name: True}, mac)
    careless = {"use_reentrant": True, "preserve_rng_state": False}
    assert checkpointing_settings(careless, mac) == careless, "new dropout was asked for"
    with pytest.raises(PippinError, match="unknown speed"):
        checkpointing_settings({"speed": 9}, cpu)


def test_model_without_checkpointing_is_refused():
    model = torch.nn.Linear(1, 1)
    model.supports_gradient_checkpointing = False
    with pytest.raises(PippinError, match="Linear does not support it"):
        prepare_for_training(model, get_backend("cpu"), recomputes=True)


def test_noise_is_drawn_into_contiguous_memory_while_training_only(monkeypatch):
    class Embeddings(torch.nn.Module):
        def forward(self, inputs):
            return torch.zeros(2, 6, 3).transpose(1, 2)

    module = Embeddings()
    module.get_input_embeddings = lambda: module
    add_noise_to_embeddings(module, 5.0)
    drawn = []
    uniform = torch.Tensor.uniform_
    monkeypatch.setattr(
        torch.Tensor, "uniform_", lambda self, *limits: (drawn.append(self.is_contiguous()), uniform(self, *limits))[1]
    )
    noise = module.train()(None)
    assert drawn == [True]
    assert 0 < noise.abs().max() <= 5 / 18**0.5
    assert not module.eval()(None).any()
