"""The settings of a BERT that Pippin can load by itself, read without transformers."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from pippin.data.labels import Labels

#: What a BERT's config.json leaves out, as transformers fills it in.
_SIZES = {
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}
_SHARES = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
_OTHERS = {
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
    "hidden_act": "gelu",
    "classifier_dropout": None,
}
#: The one value of each under which a BERT is the plain one that is written out here.
_PLAIN = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "is_encoder_decoder": False,
    "add_cross_attention": False,
    "chunk_size_feed_forward": 0,
    "gradient_checkpointing": False,
    "pruned_heads": {},
}
_LEFT_OUT = ("_name_or_path", "dtype", "num_labels")


class OwnConfig(SimpleNamespace):
    """A BERT's settings under the names that transformers has for them."""

    num_labels: int
    id2label: dict[int, str]

    if TYPE_CHECKING:  # all settings are plain attributes

        def __getattr__(self, name: str) -> Any: ...

    def to_dict(self) -> dict[str, Any]:
        """For config.json."""
        settings = {name: value for name, value in vars(self).items() if name not in _LEFT_OUT and name[0] != "_"}
        return settings | {
            "architectures": ["BertForSequenceClassification"],
            "id2label": {str(number): name for number, name in self.id2label.items()},
            "torch_dtype": "float32",
        }


def read_own_config(file: Path, labels: Labels | None = None) -> OwnConfig | None:
    """The settings in config.json, set up for the labels; None where the model is not a plain BERT."""
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(settings, dict) or settings.get("model_type") != "bert":
        return None
    if any(settings.get(name, value) != value for name, value in _PLAIN.items()):
        return None
    settings = {**_SIZES, **_SHARES, **_OTHERS, **settings}
    if not _is_sound(settings):
        return None
    names = _classes(settings, labels)
    if names is None:
        return None
    settings |= {
        "num_labels": len(names),
        "id2label": dict(enumerate(names)),
        "label2id": {name: number for number, name in enumerate(names)},
        "problem_type": settings.get("problem_type"),
        "_attn_implementation": "sdpa",
    }
    if labels is not None:
        settings["problem_type"] = "regression" if labels.regression else "single_label_classification"
    return OwnConfig(**settings)


def _is_sound(settings: dict[str, Any]) -> bool:
    """Whether all numbers are of the right kind; transformers says what is wrong with others."""
    shares = [settings[name] for name in _SHARES]
    if settings["classifier_dropout"] is not None:
        shares.append(settings["classifier_dropout"])
    return (
        all(type(settings[name]) is int and settings[name] > 0 for name in _SIZES)
        and settings["hidden_size"] % settings["num_attention_heads"] == 0
        and all(isinstance(share, (int, float)) and 0 <= share <= 1 for share in shares)
        and all(
            isinstance(settings[name], float) and settings[name] > 0 for name in ("initializer_range", "layer_norm_eps")
        )
        and type(settings["pad_token_id"]) is int
        and 0 <= settings["pad_token_id"] < settings["vocab_size"]
    )


def _classes(settings: dict[str, Any], labels: Labels | None) -> list[str] | None:
    """The names of the outputs: the labels', else the file's own."""
    if labels is not None:
        return list(labels.names) or [f"LABEL_{number}" for number in range(labels.outputs)]
    named = settings.get("id2label")
    if named is None:
        count = settings.get("num_labels", 2)
        return [f"LABEL_{number}" for number in range(count)] if type(count) is int and count > 0 else None
    if not isinstance(named, dict) or set(named) != {str(number) for number in range(len(named))} or not named:
        return None
    return [named[str(number)] for number in range(len(named))]
