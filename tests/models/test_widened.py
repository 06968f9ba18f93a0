"""Frozen weights in half precision give what they give in full, bit for bit, and so do adapters beside them."""

from __future__ import annotations

import copy

import pytest
import torch
from small_chat import small_language_model
from test_language_network import encoded_chats, gradients, network

from pippin.models.adapters import AdapterSettings, add_adapters
from pippin.models.widened import widen_where_used


@pytest.mark.parametrize("kind", ["llama", "qwen3", "gemma2", "gpt2"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_same_results_from_half_the_memory(kind, dtype):
    stored = small_language_model(kind).to(dtype)
    narrow, wide = stored, copy.deepcopy(stored).float()
    for model in (narrow, wide):
        torch.manual_seed(3)
        add_adapters(model, AdapterSettings(4, 8.0))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "lora_B" in name:
                    parameter.copy_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    widen_where_used(narrow)
    held = [sum(p.nbytes for p in model.parameters() if not p.requires_grad) for model in (narrow, wide)]
    assert held[0] < (0.6 if kind in ("llama", "qwen3") else 0.9) * held[1]  # others have layers of their own
    encoded, found = encoded_chats(), []
    for model in (narrow, wide):
        ours = network(model, packs=True)
        loss = ours.logits(ours.collate(encoded, torch.arange(8).numpy()))
        loss.backward()
        found.append((loss.item(), gradients(model)))
    assert found[0][0] == found[1][0]
    assert found[0][1].keys() == found[1][1].keys()
    assert all("lora" in name for name in found[0][1])
    for name, gradient in found[0][1].items():
        assert torch.equal(gradient, found[1][1][name]), name
