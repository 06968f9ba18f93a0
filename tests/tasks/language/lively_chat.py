"""Small models whose answers depend on all that they read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from small_chat import TEMPLATE, small_language_model, small_tokenizer

from pippin.commands.generator import Generator
from pippin.machine.drivers import get_backend
from pippin.machine.probe import probe

#: What weights are multiplied by; where 10 is so much that a model says one thing only.
TIMES = {"gpt_neox": 3}


def lively_model(kind: str = "llama", vocabulary: int = 400, **settings: Any) -> Any:
    """With weights so large that another token gives another answer."""
    model = small_language_model(kind, vocabulary, tie_word_embeddings=False, **settings).eval()
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights *= TIMES.get(kind, 10)
    return model


def lively(kind: str = "llama", template: str | None = TEMPLATE, **settings: Any) -> Generator:
    """Such a model, ready to answer, on the device of these tests."""
    tokenizer = small_tokenizer(template)
    backend = get_backend(probe().devices[0].kind)
    model = backend.place(lively_model(kind, len(tokenizer), **settings))
    return Generator(model, tokenizer, backend, "lively", longest=256)


def save_lively(folder: Path, kind: str = "llama", template: str | None = TEMPLATE, **generation: Any) -> Path:
    """Such a model in a folder, with these settings in its generation_config.json."""
    tokenizer = small_tokenizer(template)
    model = lively_model(kind, len(tokenizer))
    model.generation_config.update(**generation)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
