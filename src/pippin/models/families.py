"""Kinds of models whose rows can be packed: what must be known of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pippin.models.plain_bert.config import PlainBertConfig


@dataclass(frozen=True)
class Family:
    """Where things are in a model's layers, and how it counts positions."""

    key: str | None = None
    """The modules in a layer that make attention's keys and values; None where they are made together."""
    value: str | None = None
    positions_after_padding: bool = False
    """Whether positions begin after the padding token's number, and padding tokens in a text are not counted."""
    causal: bool = False
    """Whether a token sees none that come later. A head for rows reads the last token then, else the first."""
    rotary: bool = False
    """Whether only the distance of two positions matters, so that padding before a text changes nothing."""
    takes_states: bool = False
    """Of decoders: whether hidden states can stand for word vectors, with nothing added or multiplied on the way."""


_LIKE_BERT = Family("attention.self.key", "attention.self.value")
_LIKE_ROBERTA = Family("attention.self.key", "attention.self.value", positions_after_padding=True)

FAMILIES = {
    "bert": _LIKE_BERT,
    "electra": _LIKE_BERT,
    "roberta": _LIKE_ROBERTA,
    "xlm-roberta": _LIKE_ROBERTA,
    "camembert": _LIKE_ROBERTA,
    "distilbert": Family("attention.k_lin", "attention.v_lin"),
    "modernbert": Family(),
    "gpt2": Family(causal=True),
    **dict.fromkeys(("gemma", "gemma2", "gemma3_text"), Family(causal=True, rotary=True)),
    **dict.fromkeys(
        ("llama", "mistral", "qwen2", "qwen3", "smollm3", "phi3", "gpt_neox"),
        Family(causal=True, rotary=True, takes_states=True),
    ),
}  # fmt: skip


def family_of(config: Any) -> tuple[Family | None, str]:
    """The family of a model with this configuration; where there is none, the reason."""
    kind = getattr(config, "model_type", None)
    family = FAMILIES.get(kind or "")
    if family is None:
        return None, f"Pippin cannot pack {kind} models"
    if getattr(config, "add_cross_attention", False) or (getattr(config, "is_decoder", False) and not family.causal):
        return None, "it is set up as a decoder"
    if getattr(config, "use_bidirectional_attention", False):
        return None, "its tokens see later ones"
    if getattr(config, "position_embedding_type", None) not in (None, "absolute"):
        return None, "its positions are relative"
    if getattr(config, "classifier_pooling", "cls") != "cls":
        return None, "its head reads every token"
    if not _has_registry(config):
        return None, "this release of transformers has no way to replace its attention"
    return family, ""


def first_position(family: Family, config: Any) -> int:
    """The position number of a row's first token."""
    return int(config.pad_token_id) + 1 if family.positions_after_padding else 0


def attention_window(config: Any) -> int | None:
    """How far a token sees to either side, where that is not the whole row."""
    return getattr(config, "sliding_window", None) if getattr(config, "model_type", None) == "modernbert" else None


def caps_scores(config: Any) -> bool:
    """Whether attention's scores are capped, as in Gemma 2: few kernels can do that."""
    return getattr(config, "attn_logit_softcapping", None) is not None


def _has_registry(config: Any) -> bool:
    if isinstance(config, PlainBertConfig):
        return True
    try:
        from transformers.masking_utils import AttentionMaskInterface  # noqa: F401
    except ImportError:
        return False
    from transformers import AutoModelForSequenceClassification

    model = AutoModelForSequenceClassification._model_mapping.get(type(config), None)
    return bool(model is not None and getattr(model, "_supports_attention_backend", False))
