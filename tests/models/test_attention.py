"""What a configuration tells of attention, compared with the models themselves."""

from __future__ import annotations

import pytest
import torch

from pippin.models.attention import is_causal, window_of, work_of

SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
CONFIGS = {
    "bert": SMALL, "roberta": SMALL, "electra": SMALL, "distilbert": {"dim": 16, "n_heads": 2, "n_layers": 1},
    "albert": SMALL, "mpnet": SMALL, "modernbert": SMALL, "deberta-v2": SMALL,
    "gpt2": {"n_embd": 16, "n_head": 2, "n_layer": 1}, "llama": SMALL, "qwen2": SMALL, "mistral": SMALL, "opt": SMALL,
    "gpt_neox": SMALL, "bart": {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "decoder_attention_heads": 2},
}  # fmt: skip


def config_of(kind: str, **changes):
    from transformers import AutoConfig

    try:
        return AutoConfig.for_model(kind, **{**CONFIGS.get(kind, {}), **changes})
    except ValueError:
        pytest.skip(f"this transformers has no {kind}")


@pytest.mark.parametrize("kind", sorted(CONFIGS))
def test_looks_back_as_the_modules_say(kind):
    from transformers import AutoModelForSequenceClassification

    config = config_of(kind)
    with torch.device("meta"):
        model = AutoModelForSequenceClassification.from_config(config)
    causal = any(getattr(module, "is_causal", False) for module in model.modules())
    assert is_causal(config) == causal


def test_encoder_used_as_a_decoder_looks_back():
    assert is_causal(config_of("bert", is_decoder=True))


def test_heads_and_widths():
    work = work_of(config_of("gpt2"), "bf16")
    assert (work.heads, work.precision, work.causal, work.uneven_heads) == (2, "bf16", True, False)
    widths = {"qk_nope_head_dim": 16, "qk_rope_head_dim": 8}
    assert work_of(config_of("deepseek_v3", v_head_dim=16, **widths)).uneven_heads
    assert not work_of(config_of("deepseek_v3", v_head_dim=24, **widths)).uneven_heads
    assert work_of(object()).heads == 1


@pytest.mark.parametrize(
    ("kind", "settings", "window"),
    [
        ("modernbert", {"local_attention": 128}, 128),
        ("mistral", {"sliding_window": 4096}, 4096),
        ("mistral", {"sliding_window": None}, None),
        ("gemma2", {"sliding_window": 32}, 32),
        ("gemma3_text", {"sliding_window": 512}, 512),
        ("qwen2", {"use_sliding_window": True, "sliding_window": 64}, 64),
        ("qwen2", {"use_sliding_window": False, "sliding_window": 64}, None),
        ("phi3", {"sliding_window": 2047}, 2047),
        ("gpt_neo", {"window_size": 256}, 256),
        ("longformer", {"attention_window": [512] * 12}, 512),
        ("llama4_text", {"attention_chunk_size": 8192}, 8192),
        ("bert", {}, None),
        ("deberta-v2", {}, None),
        ("llama", {}, None),
    ],
)
def test_how_far_a_token_sees(kind, settings, window):
    config = config_of(kind, **settings)
    assert window_of(config) == window
    assert work_of(config).has_window is (window is not None)


def test_a_window_inside_of_a_larger_configuration():
    """Models of texts and pictures keep the settings of their text apart."""
    config = config_of("gemma3", text_config={"model_type": "gemma3_text", "sliding_window": 16})
    assert window_of(config) == 16
