"""BERT with a classification head. Modules have the names that weights have in BERT's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from pippin.models import safety
from pippin.models.padded_attention import Attention, fused
from pippin.models.plain_bert.config import PlainBertConfig


class PlainBertOutput(NamedTuple):
    logits: torch.Tensor


class PlainBert(nn.Module):
    """The classifier. It draws dropout in the same order as transformers' does."""

    base_model_prefix = "bert"
    supports_gradient_checkpointing = True

    def __init__(self, config: PlainBertConfig, attention: Attention = fused):
        super().__init__()
        self.config = config
        self.bert = _Encoder(config)
        chance = config.hidden_dropout_prob if config.classifier_dropout is None else config.classifier_dropout
        self.dropout = nn.Dropout(chance)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.use_attention(attention)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
    ) -> PlainBertOutput:
        seen = None if attention_mask is None else attention_mask[:, None, None, :].bool()
        pooled = self.bert(input_ids, seen, token_type_ids, position_ids)
        return PlainBertOutput(self.classifier(self.dropout(pooled)))

    def use_attention(self, attention: Attention) -> None:
        self.attention = attention
        for layer in self.bert.encoder.layer:
            layer.attention.self.attend = attention

    def gradient_checkpointing_enable(self, settings: dict[str, Any]) -> None:
        """Compute layers again for the gradient, by torch's checkpoint() with these settings."""
        self.bert.checkpointing = settings

    def get_input_embeddings(self) -> nn.Module:
        return self.bert.embeddings.word_embeddings

    def save_pretrained(self, folder: str | Path, state_dict: dict[str, torch.Tensor] | None = None) -> None:
        from safetensors.torch import save_file

        weights = self.state_dict() if state_dict is None else state_dict
        save_file(
            {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()},
            Path(folder, safety.WEIGHTS),
            metadata={"format": "pt"},
        )
        settings = json.dumps(self.config.to_dict(), indent=2, sort_keys=True)
        Path(folder, safety.CONFIG).write_text(settings + "\n", encoding="utf-8")


class _Encoder(nn.Module):
    def __init__(self, config: PlainBertConfig):
        super().__init__()
        self.checkpointing: dict[str, Any] | None = None
        self.embeddings = _Embeddings(config)
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(_Layer(config) for _ in range(config.num_hidden_layers))
        self.pooler = nn.Module()
        self.pooler.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, tokens: Any, seen: Any, token_type_ids: Any, positions: Any) -> torch.Tensor:
        hidden_states = self.embeddings(tokens, token_type_ids, positions)
        for layer in self.encoder.layer:
            if self.checkpointing is not None and layer.training:
                hidden_states = checkpoint(layer, hidden_states, seen, **self.checkpointing)
            else:
                hidden_states = layer(hidden_states, seen)
        return torch.tanh(self.pooler.dense(hidden_states[:, 0]))


class _Embeddings(nn.Module):
    def __init__(self, config: PlainBertConfig):
        super().__init__()
        width = config.hidden_size
        self.word_embeddings = _embedding(config.vocab_size, width, config.pad_token_id)
        self.position_embeddings = _embedding(config.max_position_embeddings, width)
        self.token_type_embeddings = _embedding(config.type_vocab_size, width)
        self.LayerNorm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, tokens: torch.Tensor, token_type_ids: Any, positions: Any) -> torch.Tensor:
        if positions is None:
            positions = torch.arange(tokens.shape[1], device=tokens.device)[None]
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(tokens)
        words = self.word_embeddings(tokens) + self.token_type_embeddings(token_type_ids)
        return self.dropout(self.LayerNorm(words + self.position_embeddings(positions)))


def _embedding(count: int, width: int, padding: int | None = None) -> nn.Embedding:
    """Not drawn at random, as torch would: that imports its compiler, and the weights come from a file."""
    return nn.Embedding.from_pretrained(torch.empty(count, width), freeze=False, padding_idx=padding)


class _Layer(nn.Module):
    def __init__(self, config: PlainBertConfig):
        super().__init__()
        self.attention = nn.Module()
        self.attention.self = _SelfAttention(config)
        self.attention.output = _Added(config.hidden_size, config)
        self.intermediate = nn.Module()
        self.intermediate.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.output = _Added(config.intermediate_size, config)

    def forward(self, hidden_states: torch.Tensor, seen: torch.Tensor | None) -> torch.Tensor:
        hidden_states = self.attention.output(self.attention.self(hidden_states, seen), hidden_states)
        return self.output(functional.gelu(self.intermediate.dense(hidden_states)), hidden_states)


class _SelfAttention(nn.Module):
    attend: Attention

    def __init__(self, config: PlainBertConfig):
        super().__init__()
        self.heads = config.num_attention_heads
        self.scaling = (config.hidden_size // self.heads) ** -0.5
        self.query, self.key, self.value = (nn.Linear(config.hidden_size, config.hidden_size) for _ in range(3))
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)

    def forward(self, hidden_states: torch.Tensor, seen: torch.Tensor | None) -> torch.Tensor:
        query, key, value = (
            made(hidden_states).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for made in (self.query, self.key, self.value)
        )
        chance = self.dropout.p if self.training else 0.0
        found, _ = self.attend(self, query, key, value, seen, scaling=self.scaling, dropout=chance)
        return found.flatten(-2)


class _Added(nn.Module):
    """What a part of the layer found, added to what went in."""

    def __init__(self, width: int, config: PlainBertConfig):
        super().__init__()
        self.dense = nn.Linear(width, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, found: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        return self.LayerNorm(self.dropout(self.dense(found)) + before)


_FLOATS = ("F32", "F16", "BF16")
_HEAD = ("bert.pooler.", "classifier.")
#: Files of older releases hold the numbers from 0 on.
_BUFFERS = {"bert.embeddings.position_ids"}


def fits(config: PlainBertConfig, file: Path) -> bool:
    """Whether a file holds the weights of this very model, but for a head that it may lack. Reads no weights."""
    found = {_name_here(name): fact for name, fact in (safety.header_of(file) or {}).items()}
    if config.num_hidden_layers > len(found):  # so that no made-up number is counted up to
        return False
    return all(
        found[name][0] == list(empty.shape) and found[name][1] in _FLOATS if name in found else name.startswith(_HEAD)
        for name, empty in _without_weights(config).state_dict().items()
    )


def load(config: PlainBertConfig, file: Path, attention: Attention) -> PlainBert:
    """The model in fp32. A head that the file does not have is drawn anew, with the draws that transformers makes."""
    from safetensors.torch import load_file

    model = _without_weights(config)
    model.use_attention(attention)
    found = {_name_here(name): tensor for name, tensor in load_file(file).items()}
    weights = {}
    for name, empty in model.state_dict().items():
        if name in found:
            weights[name] = found[name].to(torch.float32, copy=True)  # the file may change
        elif name.endswith("bias"):
            weights[name] = torch.zeros(empty.shape)
        else:
            weights[name] = torch.empty(empty.shape).normal_(0.0, config.initializer_range)
    model.load_state_dict(weights, assign=True)
    return model.eval()


def compare(model: PlainBert, file: Path) -> tuple[set[str], set[str]]:
    """The names of a model's tensors that a file lacks, and those of the file that the model does not use."""
    found = set(map(_name_here, safety.header_of(file) or ()))
    own = model.state_dict().keys()
    return own - found, found - own - _BUFFERS


def _without_weights(config: PlainBertConfig) -> PlainBert:
    with torch.device("meta"):
        return PlainBert(config)


def _name_here(name: str) -> str:
    """Files of the bare encoder leave out its prefix, and old ones name norms otherwise."""
    name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
    return name if name.startswith(("bert.", "classifier.", "cls.")) else f"bert.{name}"
