"""Small base models to train from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from small_chat import TEMPLATE, small_language_model, small_tokenizer

#: As in the published models of the kind: the width of heads, which transformers does not read from a GGUF file, and a
#: window that no prompt here is longer than.
PUBLISHED = {"qwen3": {"head_dim": 128}, "mistral": {"sliding_window": 200}}


def save_base(
    folder: Path,
    kind: str = "llama",
    dtype: str = "bfloat16",
    template: str | None = TEMPLATE,
    tokenizer: Any = None,
    **settings: Any,
) -> Path:
    """A base model as it lies on the Hub: in half precision, with settings of positions under their former name."""
    tokenizer = tokenizer or small_tokenizer(template)
    model = small_language_model(kind, len(tokenizer), **{**PUBLISHED.get(kind, {}), **settings})
    model.to(getattr(torch, dtype)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    if theta := config.get("rope_parameters", {}).get("rope_theta"):
        (folder / "config.json").write_text(json.dumps({**config, "rope_theta": theta}))
    return folder
