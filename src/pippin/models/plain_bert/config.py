"""A BERT's settings, read without transformers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from pippin.models.labels import THRESHOLDS, Labels

_SIZES = (
    "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
    "max_position_embeddings", "type_vocab_size",
)  # fmt: skip
_LARGEST_SIZE = 2**24
#: The one value of each under which a BERT is the plain one.
_PLAIN = {
    "model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False,
    "is_encoder_decoder": False, "add_cross_attention": False, "chunk_size_feed_forward": 0,
    "gradient_checkpointing": False, "pruned_heads": {},
}  # fmt: skip
#: Where the model came from, and what is written anew.
_NOT_SAVED = ("_name_or_path", "num_labels", "dtype")


@dataclass
class PlainBertConfig:
    """Under transformers' names, and with its defaults for what a config.json leaves out."""

    id2label: dict[int, str]
    problem_type: str | None = None
    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    classifier_dropout: float | None = None
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int = 0
    file: dict[str, Any] = field(default_factory=dict, repr=False)
    """All that config.json holds."""

    model_type: ClassVar[str] = "bert"

    @property
    def num_labels(self) -> int:
        return len(self.id2label)

    @property
    def architectures(self) -> list[str] | None:
        return self.file.get("architectures")

    @property
    def label_thresholds(self) -> Any:
        return self.file.get(THRESHOLDS)

    @label_thresholds.setter
    def label_thresholds(self, value: dict[str, float] | None) -> None:
        others = {name: each for name, each in self.file.items() if name != THRESHOLDS}
        self.file = others if value is None else {**others, THRESHOLDS: value}

    def to_dict(self) -> dict[str, Any]:
        """For the config.json of a classifier: all that the file held, and what has become of it."""
        own = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "file"}
        kept = {name: value for name, value in self.file.items() if name not in _NOT_SAVED}
        return {
            **kept,
            **own,
            "model_type": self.model_type,
            "architectures": ["BertForSequenceClassification"],
            "id2label": {str(number): name for number, name in self.id2label.items()},
            "label2id": {name: number for number, name in self.id2label.items()},
            "torch_dtype": "float32",
        }


def read_config(file: Path, labels: Labels | None = None) -> PlainBertConfig | None:
    """The settings in config.json, set up for the labels; None where the model is not a plain BERT."""
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(settings, dict) or "model_type" not in settings:
        return None
    is_plain = all(settings.get(name, value) == value for name, value in _PLAIN.items())
    names = _classes(settings, labels) if is_plain else None
    if names is None:
        return None
    given = {each.name: settings[each.name] for each in fields(PlainBertConfig) if each.name in settings}
    given |= {"id2label": dict(enumerate(names)), "file": settings}
    if labels is not None:
        given["problem_type"] = labels.problem_type
    config = PlainBertConfig(**given)
    return config if _is_sound(config) else None


def _is_sound(config: PlainBertConfig) -> bool:
    """Whether all is of the right kind; transformers says what is wrong with the rest."""
    sizes = [getattr(config, name) for name in _SIZES]
    chances = [config.hidden_dropout_prob, config.attention_probs_dropout_prob]
    if config.classifier_dropout is not None:
        chances.append(config.classifier_dropout)
    return (
        all(type(size) is int and 0 < size <= _LARGEST_SIZE for size in sizes)
        and config.hidden_size % config.num_attention_heads == 0
        and all(isinstance(chance, (int, float)) and 0 <= chance <= 1 for chance in chances)
        and all(type(each) is float and each > 0 for each in (config.initializer_range, config.layer_norm_eps))
        and type(config.pad_token_id) is int
        and 0 <= config.pad_token_id < config.vocab_size
        and _are_strings(config.architectures or [])
    )


def _classes(settings: dict[str, Any], labels: Labels | None) -> list[str] | None:
    """The names of the outputs: the labels', else the file's own; None where these are damaged."""
    if labels is not None:
        return list(labels.names) or [f"LABEL_{number}" for number in range(labels.outputs)]
    named = settings.get("id2label")
    if named is None:
        count = settings.get("num_labels", 2)
        return [f"LABEL_{number}" for number in range(count)] if type(count) is int and count > 0 else None
    if not isinstance(named, dict) or not named:
        return None
    names: list[Any] = [named.get(str(number)) for number in range(len(named))]
    return names if _are_strings(names) else None


def _are_strings(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
