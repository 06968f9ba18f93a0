"""How weights are stored is told from their files, and a model that is kept so computes as in full precision."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from small_chat import save_small_chat, small_language_model
from transformers import AutoModelForCausalLM

from pippin.models.adapters import AdapterSettings, add_adapters
from pippin.models.loading import load_config, load_model, weight_files
from pippin.models.merging import merge_adapters, round_weights
from pippin.models.stored import stored_precision
from pippin.models.widened import widen_where_used
from pippin.recipe import Recipe

RECIPE = Recipe(model_name_or_path="model")
KINDS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
IDS = torch.arange(3, 120)[None]


def save(kind: torch.dtype, **settings) -> None:
    save_small_chat(Path("model"))
    AutoModelForCausalLM.from_pretrained("model", dtype=kind).save_pretrained("model", **settings)


@pytest.mark.parametrize("precision", KINDS)
def test_precision_is_that_of_the_file(precision):
    save(KINDS[precision])
    config = Path("model/config.json")
    config.write_text(config.read_text().replace(str(KINDS[precision])[6:], "float64"))  # a configuration may be wrong
    assert stored_precision(weight_files(RECIPE)) == precision


def test_a_model_in_parts():
    save(torch.bfloat16, max_shard_size="20KB")
    files = weight_files(RECIPE)
    assert len(files) > 1
    assert stored_precision(files) == "bf16"


@pytest.mark.parametrize("precision", KINDS)
def test_positions_are_computed_in_full(precision):
    """Frequencies rounded to eight bits would turn a late position by another angle."""
    save(KINDS[precision])
    config = load_config(RECIPE, auto_model="AutoModelForCausalLM")
    kept = load_model(RECIPE, config, auto_model="AutoModelForCausalLM", precision=precision)
    whole = load_model(RECIPE, config, auto_model="AutoModelForCausalLM")
    assert {each.dtype for each in kept.parameters()} == {KINDS[precision]}
    widen_where_used(kept.requires_grad_(False))
    with torch.no_grad():
        assert torch.allclose(kept(IDS).logits, whole(IDS).logits, atol=1e-6)


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
@pytest.mark.parametrize("precision", KINDS)
def test_merged_adapters_leave_a_plain_model(kind, precision):
    model = small_language_model(kind).to(KINDS[precision])
    plain = set(model.state_dict())
    add_adapters(model, AdapterSettings(4, 8.0))
    for name, each in model.named_parameters():
        if "lora_B" in name:
            each.data.normal_(std=0.1)
    model.requires_grad_(False).eval()
    widen_where_used(model)
    with torch.no_grad():
        wanted = model(IDS).logits
        merge_adapters(model)
        round_weights(model, KINDS[precision])
        found = model(IDS).logits
    assert set(model.state_dict()) == plain
    size = wanted.abs().max()
    assert (found - wanted).abs().max() < size * (1e-5 if precision == "fp32" else 0.05)
    assert all(torch.equal(each, each.to(KINDS[precision]).to(each.dtype)) for each in model.parameters())
