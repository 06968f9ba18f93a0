"""A language model of a few thousand weights, with a tokenizer and a chat template of its own, and chats for it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from helpers import FILLER, WORDS

START, END, TEXT_END = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
#: Answers that stand before others are written without what the last one has.
REWRITING = TEMPLATE.replace(
    "message['content'] +",
    "('<think>\n\n</think>\n\n' if loop.last and message['role'] == 'assistant' else '') + message['content'] +",
)
SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
    "max_position_embeddings": 256,
}  # fmt: skip
SIZES: dict[str, dict[str, Any]] = {
    "llama": {**SMALL, "num_key_value_heads": 1},
    "mistral": {**SMALL, "num_key_value_heads": 1, "sliding_window": 16},
    "qwen2": {**SMALL, "num_key_value_heads": 1},
    "qwen3": {**SMALL, "num_key_value_heads": 1, "head_dim": 16},
    "smollm3": {**SMALL, "num_key_value_heads": 1},
    "gemma": {**SMALL, "num_key_value_heads": 1, "head_dim": 16},
    "gemma2": {**SMALL, "num_key_value_heads": 1, "head_dim": 16, "sliding_window": 16},
    "gemma3_text": {**SMALL, "num_key_value_heads": 1, "head_dim": 16, "sliding_window": 16},
    "phi3": {**SMALL, "num_key_value_heads": 1},
    "gpt2": {
        "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 256,
        "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0,
    },
    "gpt_neox": SMALL,
}  # fmt: skip


def small_tokenizer(template: str | None = TEMPLATE) -> PreTrainedTokenizerFast:
    """Byte pairs of the tests' words."""
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    words = [" ".join(row["messages"][place]["content"] for place in (0, 1)) for row in chat_rows(50)]
    special = [TEXT_END, START, END]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    raw.train_from_iterator(
        words, trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token=END, pad_token=TEXT_END, additional_special_tokens=[START],
        model_input_names=["input_ids", "attention_mask"], clean_up_tokenization_spaces=False,
    )  # fmt: skip
    tokenizer.chat_template = template
    return tokenizer


def small_language_model(kind: str = "llama", vocabulary: int = 400, seed: int = 0, **settings: Any) -> Any:
    """With the same random weights every time."""
    torch.manual_seed(seed)
    config = AutoConfig.for_model(
        kind, vocab_size=vocabulary, pad_token_id=0, bos_token_id=0, eos_token_id=2, **{**SIZES[kind], **settings}
    )
    return AutoModelForCausalLM.from_config(config)


def save_small_chat(folder: Path, kind: str = "llama", template: str | None = TEMPLATE, **settings: Any) -> Path:
    """Model and tokenizer in a folder, as transformers saves them."""
    tokenizer = small_tokenizer(template)
    small_language_model(kind, len(tokenizer), **settings).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def chat_rows(count: int, seed: int = 0, turns: int = 1) -> list[dict[str, Any]]:
    """Somebody asks what kind of thing a word is, and is told."""
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        messages = []
        for _ in range(turns):
            kind = draw.choice(list(WORDS))
            word = draw.choice(WORDS[kind])
            asked = " ".join([*draw.choices(FILLER, k=draw.randint(1, 6)), f"{word}?"])
            answer = " ".join([f"{word} is", *draw.choices(FILLER, k=draw.randint(1, 4)), f"{kind}."])
            messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
        rows.append({"messages": messages})
    return rows


def write_chats(name: str, rows: list[dict[str, Any]]) -> Path:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Path(name)
