"""A small job for Trainers: rows of words whose label is plain to see, and a model of any family without dropout."""

from __future__ import annotations

import random
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoModelForTokenClassification

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
SIZES = {
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64},
    "modernbert": {**SMALL, "local_attention": 8},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 2},
    "mistral": {**SMALL, "num_key_value_heads": 1, "sliding_window": 8},
    "gemma2": {**SMALL, "num_key_value_heads": 1, "head_dim": 16, "sliding_window": 8},
    "qwen3": {**SMALL, "num_key_value_heads": 1, "head_dim": 16, "classifier_dropout": 0.0},  # else 0.1
}
DROPOUTS = (
    "hidden_dropout_prob attention_probs_dropout_prob dropout attention_dropout seq_classif_dropout classifier_dropout "
    "embedding_dropout mlp_dropout attn_pdrop embd_pdrop resid_pdrop"
).split()


class Rows(torch.utils.data.Dataset):
    """Rows of 3 to 20 tokens, padded to 24 as a script with pad_to_max_length does."""

    def __init__(self, count: int, seed: int = 0, pad: int = 0, labels: bool = True):
        draw = random.Random(seed)
        self.rows = [[draw.randrange(5, 60) for _ in range(draw.randrange(3, 21))] for _ in range(count)]
        self.pad, self.labels = pad, labels

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        row = self.rows[index]
        missing = 24 - len(row)
        found = {
            "input_ids": torch.tensor(row + [self.pad] * missing),
            "attention_mask": torch.tensor([1] * len(row) + [0] * missing),
        }
        return {**found, "labels": row[0] % 3} if self.labels else found


class Tagged(Rows):
    """The same rows with a label for each token but the first, as taggers have them."""

    def __getitem__(self, index: int) -> dict[str, Any]:
        row = self.rows[index]
        labels = [-100, *(token % 3 for token in row[1:]), *[-100] * (24 - len(row))]
        return {**super().__getitem__(index), "labels": torch.tensor(labels)}


def small_model(
    kind: str = "bert", dropout: float = 0.0, auto: Any = AutoModelForSequenceClassification, **settings: Any
) -> Any:
    """The same weights every time."""
    torch.manual_seed(7)
    config = AutoConfig.for_model(kind, vocab_size=64, num_labels=3, pad_token_id=0, **SIZES.get(kind, SMALL))
    for name in DROPOUTS:
        if getattr(config, name, None) is not None:
            setattr(config, name, dropout)
    for name, value in settings.items():
        setattr(config, name, value)
    return auto.from_config(config)


def small_tagger(kind: str = "bert", **settings: Any) -> Any:
    return small_model(kind, auto=AutoModelForTokenClassification, **settings)


def accuracy(prediction: Any) -> dict[str, float]:
    counted = prediction.label_ids != -100
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids)[counted].mean())}


def arguments(folder: Any, **settings: Any) -> Any:
    from transformers import TrainingArguments

    usual = {
        "per_device_train_batch_size": 8,
        "num_train_epochs": 2,
        "logging_steps": 1,
        "learning_rate": 1e-3,
        "disable_tqdm": True,
        "report_to": "none",
        "eval_strategy": "epoch",
    }
    return TrainingArguments(str(folder), **{**usual, **settings})


def figures(trainer: Any, *names: str) -> list[list[float]]:
    """Everything that was logged under these names, in order."""
    return [[entry[name] for entry in trainer.state.log_history if name in entry] for name in names]
