"""Packed rows and a shortened last layer give what the model itself gives: logits and gradients."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    CamembertConfig,
    DistilBertConfig,
    ElectraConfig,
    Gemma2Config,
    Gemma3TextConfig,
    GemmaConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MistralConfig,
    ModernBertConfig,
    Phi3Config,
    Qwen2Config,
    Qwen3Config,
    RobertaConfig,
    SmolLM3Config,
    XLMRobertaConfig,
)

from pippin.data.collate import collate
from pippin.data.encoding import Encoded
from pippin.machine.drivers.cpu import CpuBackend
from pippin.models.families import FAMILIES, family_of
from pippin.models.network import Network

SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 64}
NUMBERS = {"vocab_size": 200, "num_labels": 4}
SHARED = {"num_key_value_heads": 2}
ENDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
STILL = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
CONFIGS = {
    "bert": BertConfig(**SIZES, **NUMBERS),
    "electra": ElectraConfig(**SIZES, **NUMBERS, embedding_size=16),
    "roberta": RobertaConfig(**SIZES, **NUMBERS, pad_token_id=1),
    "xlm-roberta": XLMRobertaConfig(**SIZES, **NUMBERS, pad_token_id=1),
    "camembert": CamembertConfig(**SIZES, **NUMBERS, pad_token_id=1),
    "distilbert": DistilBertConfig(dim=32, n_layers=3, n_heads=4, hidden_dim=64, **NUMBERS),
    # Most rows are longer than what a token sees.
    "modernbert": ModernBertConfig(
        **SIZES, **NUMBERS, global_attn_every_n_layers=2, local_attention=8, pad_token_id=0, bos_token_id=1,
        eos_token_id=2, cls_token_id=1, sep_token_id=2,
    ),
    "gpt2": GPT2Config(n_embd=32, n_layer=3, n_head=4, n_positions=64, **NUMBERS, **ENDS, **STILL),
    "llama": LlamaConfig(**SIZES, **NUMBERS, **SHARED, **ENDS),
    "mistral": MistralConfig(**SIZES, **NUMBERS, **SHARED, **ENDS, sliding_window=6),
    "qwen2": Qwen2Config(**SIZES, **NUMBERS, **SHARED, **ENDS),
    "qwen3": Qwen3Config(**SIZES, **NUMBERS, **SHARED, **ENDS, head_dim=16),
    "smollm3": SmolLM3Config(**SIZES, **NUMBERS, **SHARED, **ENDS, no_rope_layer_interval=2),
    "gemma": GemmaConfig(**SIZES, **NUMBERS, **SHARED, **ENDS, head_dim=16),
    "gemma2": Gemma2Config(
        **SIZES, **NUMBERS, **SHARED, **ENDS, head_dim=16, sliding_window=6, attn_logit_softcapping=2.0
    ),
    "gemma3_text": Gemma3TextConfig(**SIZES, **NUMBERS, **SHARED, **ENDS, head_dim=16, sliding_window=6),
    "phi3": Phi3Config(**SIZES, **NUMBERS, **SHARED, **ENDS),
    "gpt_neox": GPTNeoXConfig(**SIZES, **NUMBERS, **ENDS),
}  # fmt: skip
ENCODERS = [name for name, family in FAMILIES.items() if not family.causal]
supported = pytest.mark.skipif(family_of(CONFIGS["bert"])[0] is None, reason="transformers without the registry")


def rows_for(config, lengths) -> Encoded:
    draw = np.random.default_rng(0)
    lengths = np.asarray(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    padding = config.pad_token_id or 0
    tokens = draw.integers(3, 200, offsets[-1]).astype(np.int32)
    tokens[1] = padding  # RoBERTa's kin do not count it
    token_type_ids = (
        draw.integers(0, 2, offsets[-1]).astype(np.int32) if config.model_type in ("bert", "electra") else None
    )
    return Encoded(tokens, token_type_ids, offsets, draw.integers(0, 4, len(lengths)), pad_token=padding)


def model_of(config) -> torch.nn.Module:
    """With weights so large that every token matters."""
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_config(copy.deepcopy(config)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return model


def logits_and_gradients(network: Network, rows: Encoded) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    batch = network.collate(rows, np.arange(len(rows)))
    logits = network.logits(batch)
    torch.nn.functional.cross_entropy(logits, batch.labels).backward()
    gradients = {name: p.grad for name, p in network.model.named_parameters() if p.grad is not None}
    return logits.detach()[np.argsort(batch.rows)], gradients


@supported
@pytest.mark.parametrize(
    ("name", "kind"),
    [(name, kind) for name in FAMILIES for kind in ("packed", "packed, one by one")]
    + [(name, kind) for name in ENCODERS for kind in ("padded", "padded, plain attention")],
)
def test_same_as_the_model_itself(name, kind):
    config = CONFIGS[name]
    model = model_of(config)
    lengths = [5, 19, 2, 12, 12, 3, 30, 7] if "one by one" not in kind else [1, 1, 1]
    rows = rows_for(config, lengths)
    wanted, wanted_gradients = logits_and_gradients(Network(copy.deepcopy(model), CpuBackend()), rows)
    if "plain" in kind:
        model.config._attn_implementation = "eager"
    network = Network(model, CpuBackend(), family=family_of(config)[0], packs="packed" in kind)
    found, gradients = logits_and_gradients(network, rows)
    torch.testing.assert_close(found, wanted, atol=2e-6, rtol=0)
    assert gradients.keys() == wanted_gradients.keys()
    for each, gradient in gradients.items():
        torch.testing.assert_close(gradient, wanted_gradients[each], atol=1e-6, rtol=1e-4, msg=each)


@supported
def test_the_last_layer_works_for_first_tokens_only():
    network = Network(model_of(CONFIGS["bert"]), CpuBackend(), family=FAMILIES["bert"], packs=True)
    seen = {}
    for name, module in network.model.named_modules():
        if name.endswith(("intermediate", "self.key")):
            module.register_forward_hook(lambda m, i, out, name=name: seen.update({name: tuple(i[0].shape[:2])}))
    rows = rows_for(CONFIGS["bert"], [5, 19, 2])
    network.logits(network.collate(rows, np.arange(3)))
    assert seen["bert.encoder.layer.1.intermediate"] == (1, 26)
    assert seen["bert.encoder.layer.2.attention.self.key"] == (1, 26)
    assert seen["bert.encoder.layer.2.intermediate"] == (1, 3)


@supported
@pytest.mark.parametrize("packs", [False, True])
@pytest.mark.parametrize("name", ENCODERS)
def test_no_linear_layer_is_given_a_matrix_for_each_first_token(name, packs):
    """Rows × 1 × width is slow on some devices in half precision, and wrong on others."""
    config = CONFIGS[name]
    network = Network(model_of(config), CpuBackend(), family=family_of(config)[0], packs=packs)
    seen = []
    for module in network.model.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_hook(lambda _, given, __: seen.append(tuple(given[0].shape)))
    rows = rows_for(config, [5, 19, 2, 12])
    network.logits(network.collate(rows, np.arange(4)))
    assert seen
    assert not [shape for shape in seen if len(shape) > 2 and shape[-2] == 1]


@supported
def test_attention_stays_within_a_row():
    """Another row beside it changes nothing for a row."""
    network = Network(model_of(CONFIGS["bert"]), CpuBackend(), family=FAMILIES["bert"], packs=True)
    rows = rows_for(CONFIGS["bert"], [9, 9, 4, 30])
    alone = network.logits(network.collate(rows, np.array([0])))
    for others in ([0, 1], [0, 2], [0, 3], [0, 1, 2, 3]):
        batch = network.collate(rows, np.array(others))
        together = network.logits(batch)[np.flatnonzero(batch.rows == 0)]
        torch.testing.assert_close(together, alone, atol=2e-6, rtol=0)


@supported
def test_attention_and_saved_configuration_are_apart(tmp_path):
    model = model_of(CONFIGS["bert"])
    Network(model, CpuBackend(), family=FAMILIES["bert"], packs=True)
    model.save_pretrained(tmp_path)
    assert "pippin" not in (tmp_path / "config.json").read_text()
    again = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    rows = rows_for(CONFIGS["bert"], [5, 9])
    inputs = collate(rows, np.arange(2)).inputs
    assert again(**inputs).logits.shape == (2, 4)


def test_models_that_cannot_be_packed_say_why():
    from transformers import DebertaV2Config, XLNetConfig

    for config in (DebertaV2Config(), XLNetConfig()):
        family, why = family_of(config)
        assert family is None
        assert config.model_type in why
    mean = ModernBertConfig(classifier_pooling="mean")
    assert family_of(mean) == (None, "its head reads every token")
    assert family_of(BertConfig(is_decoder=True)) == (None, "it is set up as a decoder")
    assert family_of(GPT2Config(add_cross_attention=True)) == (None, "it is set up as a decoder")
