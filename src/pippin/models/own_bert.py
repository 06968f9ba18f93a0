"""BERT with a classification head, written out: importing transformers' own takes longer than a first training step.

Modules bear the names that the weights have in BERT's files, so that it reads and writes what transformers does. It
computes the same too, and draws dropout in the same order; tests hold the two against each other.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional

from pippin.models.own_config import OwnConfig

#: module, query, key, value (rows × heads × tokens × width), mask; scaling and dropout by name → rows × tokens × heads
#: × width, and the shares where they are known. As in transformers' registry.
Attention = Callable[..., tuple[torch.Tensor, Any]]


_FLOATS = ("F32", "F16", "BF16")
_HEADS = ("bert.pooler.", "classifier.")


class Answer(NamedTuple):
    logits: torch.Tensor


class OwnBert(nn.Module):
    """The classifier. ``attention`` may be replaced; what takes its place is handed the same."""

    base_model_prefix = "bert"
    supports_gradient_checkpointing = False

    def __init__(self, config: OwnConfig):
        super().__init__()
        self.config = config
        self.bert = _Encoder(config)
        dropout = config.hidden_dropout_prob if config.classifier_dropout is None else config.classifier_dropout
        self.dropout = nn.Dropout(dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        position_ids: torch.Tensor | None = None,
    ) -> Answer:
        seen = None if attention_mask is None else attention_mask[:, None, None, :].bool()
        pooled = self.bert(input_ids, seen, token_type_ids, position_ids)
        return Answer(self.classifier(self.dropout(pooled)))

    def use_attention(self, attention: Attention) -> None:
        """Compute attention in this way, in every layer."""
        for layer in self.bert.encoder.layer:
            layer.attention.self.attend = attention

    def get_input_embeddings(self) -> nn.Module:
        return self.bert.embeddings.word_embeddings

    def set_input_embeddings(self, module: nn.Module) -> None:
        self.bert.embeddings.word_embeddings = module

    def save_pretrained(self, folder: str | Path, state_dict: dict[str, torch.Tensor] | None = None) -> None:
        """config.json and model.safetensors, as transformers lays them out."""
        from safetensors.torch import save_file

        weights = self.state_dict() if state_dict is None else state_dict
        save_file(
            {name: tensor.detach().cpu().contiguous() for name, tensor in weights.items()},
            Path(folder) / "model.safetensors",
            metadata={"format": "pt"},
        )
        text = json.dumps(self.config.to_dict(), indent=2, ensure_ascii=False) + "\n"
        (Path(folder) / "config.json").write_text(text, encoding="utf-8")


def fused_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    scaling: float,
    dropout: float,
) -> tuple[torch.Tensor, None]:
    """torch's own kernel; ``mask`` is True for tokens and False for padding."""
    found = functional.scaled_dot_product_attention(query, key, value, mask, dropout, scale=scaling)
    return found.transpose(1, 2), None


def plain_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    scaling: float,
    dropout: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Without a fused kernel, for devices that are not to be trusted with one."""
    scores = query @ key.transpose(-2, -1) * scaling
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    shares = functional.dropout(scores.softmax(-1), dropout)
    return (shares @ value).transpose(1, 2), shares


class _Encoder(nn.Module):
    def __init__(self, config: OwnConfig):
        super().__init__()
        self.embeddings = _Embeddings(config)
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(_Layer(config) for _ in range(config.num_hidden_layers))
        self.pooler = nn.Module()
        self.pooler.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, tokens: Any, seen: Any, segments: Any, positions: Any) -> torch.Tensor:
        states = self.embeddings(tokens, segments, positions)
        for layer in self.encoder.layer:
            states = layer(states, seen)
        return torch.tanh(self.pooler.dense(states[:, 0]))


class _Embeddings(nn.Module):
    def __init__(self, config: OwnConfig):
        super().__init__()
        width = config.hidden_size
        self.word_embeddings = _embedding(config.vocab_size, width, config.pad_token_id)
        self.position_embeddings = _embedding(config.max_position_embeddings, width)
        self.token_type_embeddings = _embedding(config.type_vocab_size, width)
        self.LayerNorm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, tokens: torch.Tensor, segments: Any, positions: Any) -> torch.Tensor:
        if positions is None:
            positions = torch.arange(tokens.shape[1], device=tokens.device)[None]
        if segments is None:
            segments = torch.zeros_like(tokens)
        total = (
            self.word_embeddings(tokens) + self.token_type_embeddings(segments) + self.position_embeddings(positions)
        )
        return self.dropout(self.LayerNorm(total))


def _embedding(count: int, width: int, padding: int | None = None) -> nn.Embedding:
    """Not drawn at random: its weights come from a file, and drawing without memory imports torch's compiler."""
    return nn.Embedding.from_pretrained(torch.empty(count, width), freeze=False, padding_idx=padding)


class _Layer(nn.Module):
    def __init__(self, config: OwnConfig):
        super().__init__()
        self.attention = nn.Module()
        self.attention.self = _SelfAttention(config)
        self.attention.output = _Added(config.hidden_size, config)
        self.intermediate = nn.Module()
        self.intermediate.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.output = _Added(config.intermediate_size, config)

    def forward(self, states: torch.Tensor, seen: torch.Tensor | None) -> torch.Tensor:
        states = self.attention.output(self.attention.self(states, seen), states)
        return self.output(functional.gelu(self.intermediate.dense(states)), states)


class _SelfAttention(nn.Module):
    def __init__(self, config: OwnConfig):
        super().__init__()
        self.heads = config.num_attention_heads
        self.scaling = (config.hidden_size // self.heads) ** -0.5
        self.query, self.key, self.value = (nn.Linear(config.hidden_size, config.hidden_size) for _ in range(3))
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)
        self.attend: Attention = plain_attention if config._attn_implementation == "eager" else fused_attention

    def forward(self, states: torch.Tensor, seen: torch.Tensor | None) -> torch.Tensor:
        query, key, value = (
            made(states).unflatten(-1, (self.heads, -1)).transpose(1, 2) for made in (self.query, self.key, self.value)
        )
        dropout = self.dropout.p if self.training else 0.0
        found, _ = self.attend(self, query, key, value, seen, scaling=self.scaling, dropout=dropout)
        return found.flatten(-2)


class _Added(nn.Module):
    """What a part of the layer found, added to what went in."""

    def __init__(self, width: int, config: OwnConfig):
        super().__init__()
        self.dense = nn.Linear(width, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)

    def forward(self, found: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        return self.LayerNorm(self.dropout(self.dense(found)) + before)


def load_own_bert(config: OwnConfig, file: Path) -> OwnBert:
    """The model with the file's weights in fp32; a head that the file does not have is drawn anew."""
    from safetensors.torch import load_file

    with torch.device("meta"):
        model = OwnBert(config)
    found = {own_name(name): tensor for name, tensor in load_file(file).items()}
    weights = {}
    for name, empty in model.state_dict().items():
        if name in found:
            weights[name] = found[name].to(torch.float32, copy=True)  # the file's own memory may go
        elif name.endswith("bias"):
            weights[name] = torch.zeros(empty.shape)
        else:
            weights[name] = torch.empty(empty.shape).normal_(0.0, config.initializer_range)
    model.load_state_dict(weights, assign=True)
    return model.eval()


def own_name(name: str) -> str:
    """A weight's name here: files of the bare encoder leave out its prefix, and old ones name norms otherwise."""
    name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
    return name if name.startswith(("bert.", "classifier.", "cls.")) else f"bert.{name}"


def fits(config: OwnConfig, file: Path) -> bool:
    """Whether a file holds the weights of this very model, but for a head that it may lack."""
    from safetensors import SafetensorError, safe_open

    with torch.device("meta"):
        wanted = {name: list(tensor.shape) for name, tensor in OwnBert(config).state_dict().items()}
    try:
        with safe_open(file, "numpy") as weights:
            found = {own_name(name): weights.get_slice(name) for name in weights.keys()}  # noqa: SIM118 (no mapping)
            return all(
                found[name].get_shape() == shape and found[name].get_dtype() in _FLOATS
                if name in found
                else name.startswith(_HEADS)
                for name, shape in wanted.items()
            )
    except (OSError, SafetensorError):
        return False
