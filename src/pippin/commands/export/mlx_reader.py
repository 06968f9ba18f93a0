"""Mlx-lm as a reader of what was written for it, where it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np

from pippin.commands.export.formats import Opened, named
from pippin.commands.export.source import Source
from pippin.errors import PippinError

#: Kinds of models that mlx-lm reads and computes as transformers does.
KNOWN = ("llama", "mistral", "qwen2", "qwen3", "smollm3", "gemma2", "phi3")


def has_mlx() -> bool:
    return find_spec("mlx_lm") is not None


def refuse_unknown(source: Source) -> None:
    if source.config.model_type not in KNOWN:
        raise PippinError(
            f"--to mlx: Pippin cannot tell whether mlx-lm reads {source.config.model_type} models as transformers does "
            f"(it can of {', '.join(KNOWN)}). Use --to merged."
        )


def open_in_mlx(model: Path, adapters: Path | None = None) -> Opened:
    """In full precision on the CPU, so that what is compared are the files."""
    import mlx.core as mx
    from mlx_lm import load

    with mx.stream(mx.cpu):
        loaded, tokenizer = load(str(model), adapter_path=None if adapters is None else str(adapters))
        loaded.set_dtype(mx.float32)

    def read(ids: list[int]) -> np.ndarray:
        with mx.stream(mx.cpu):
            return np.array(loaded(mx.array([ids]))[0])

    return Opened(named("mlx-lm"), read, None if adapters is not None else tokenizer._tokenizer)
