"""Tokenizers in GGUF: ways of cutting texts that it has names for, kinds of tokens, ends, SentencePiece's scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from bases import save_base
from small_chat import TEMPLATE, chat_rows, small_tokenizer, write_chats
from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers
from transformers import AutoTokenizer, LlamaTokenizer
from transformers.tokenization_utils_base import generate_merges

from pippin.commands.export.gguf_tokenizer import vocabulary_of
from pippin.errors import PippinError

SINCE_GPT_4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def said(tokenizer, **settings) -> dict:
    found = vocabulary_of(tokenizer, settings.pop("size", len(tokenizer)), settings.pop("stops", [2]))
    return {name.removeprefix("tokenizer.").removeprefix("ggml."): value for name, value in found.items()}


def cut_by(*cutters, ignore_merges: bool = False):
    tokenizer = small_tokenizer()
    backend = tokenizer.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(list(cutters))
    backend.model.ignore_merges = ignore_merges
    return tokenizer


def split(pattern: str, behavior: str = "isolated"):
    return pre_tokenizers.Split(Regex(pattern), behavior)


@pytest.mark.parametrize(
    ("name", "cutters", "ignore_merges"),
    [
        ("gpt-2", [pre_tokenizers.ByteLevel(add_prefix_space=False)], False),
        ("smollm", [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)], False),
        ("qwen2", [split(SINCE_GPT_4), BYTES], False),
        ("llama-bpe", [split(SINCE_GPT_4.replace("N}|", "N}{1,3}|", 1)), BYTES], True),
    ],
)  # fmt: skip
def test_ways_of_cutting_that_have_a_name(name, cutters, ignore_merges):
    found = said(cut_by(*cutters, ignore_merges=ignore_merges))
    assert (found["model"], found["pre"]) == ("gpt2", name)


@pytest.mark.parametrize("name", ["qwen2", "llama-bpe", "tekken"])
def test_patterns_are_those_of_readers(name):
    from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

    whole = name != "qwen2"
    assert said(cut_by(split(GGUF_PRE_TOKENIZER_SPLITS[name]), BYTES, ignore_merges=whole))["pre"] == name


@pytest.mark.parametrize(
    "tokenizer",
    [
        cut_by(split(SINCE_GPT_4), BYTES, ignore_merges=True),
        cut_by(split(SINCE_GPT_4, "removed"), BYTES),
        cut_by(pre_tokenizers.ByteLevel(add_prefix_space=True)),
        cut_by(pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.ByteLevel(add_prefix_space=False)),
        cut_by(pre_tokenizers.Whitespace()),
    ],
    ids=["whole pieces", "removed", "a space before", "numbers", "words"],
)
def test_ways_of_cutting_that_have_none(tokenizer):
    with pytest.raises(PippinError, match="cuts texts in a way for which GGUF has no name"):
        said(tokenizer)


def test_a_tokenizer_that_changes_letters_is_refused():
    tokenizer = small_tokenizer()
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
    with pytest.raises(PippinError, match="cuts texts"):
        said(tokenizer)


def test_kinds_of_tokens_and_ends():
    tokenizer = small_tokenizer()
    tokenizer.add_tokens([AddedToken("<think>", special=False)])
    found = said(tokenizer, size=len(tokenizer) + 2, stops=[2, 0, 1])
    thinking = tokenizer.convert_tokens_to_ids("<think>")
    assert found["token_type"][:4] == [3, 3, 3, 1]
    assert found["token_type"][thinking:] == [4, 5, 5]
    assert found["tokens"][thinking:] == ["<think>", f"[PAD{thinking + 1}]", f"[PAD{thinking + 2}]"]
    assert (found["eos_token_id"], found["eot_token_id"], found["padding_token_id"]) == (2, 1, 0)
    assert (found["add_bos_token"], found["add_eos_token"]) == (False, False)
    assert "bos_token_id" not in found
    assert "eot_token_id" not in said(tokenizer)
    tokenizer.chat_template = {"default": TEMPLATE, "tool_use": "x"}
    assert said(tokenizer)["chat_template"] == TEMPLATE


def pieces() -> LlamaTokenizer:
    """As of Llama 2: bytes, letters, and pieces that begin with a space, of which the longer ones come last."""
    words = {f"\u2581{word}" for row in chat_rows(50) for word in row["messages"][0]["content"].strip("?").split()}
    parts = sorted(
        {word[:end] for word in words for end in range(2, len(word) + 1)}, key=lambda part: (len(part), part)
    )
    letters = sorted({letter for word in words for letter in word} | set("?:.<>|_\n"))
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *letters, *parts]
    scores = {token: -float(place) for place, token in enumerate(parts)}
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
    tokenizer = LlamaTokenizer(vocab=vocabulary, merges=generate_merges(vocabulary, scores))
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def test_pieces_of_sentencepiece(run_cli, export):
    tokenizer = pieces()
    found = said(tokenizer)
    assert (found["model"], found["pre"], found["add_space_prefix"]) == ("llama", "default", True)
    assert found["token_type"][:4] == [3, 3, 3, 6]
    assert found["scores"][found["tokens"].index("\u2581th")] > found["scores"][found["tokens"].index("\u2581the")]
    save_base(Path("base"), tokenizer=tokenizer)
    rows = write_chats("chats.jsonl", chat_rows(20))
    code, _, err = run_cli("train", rows, "--model", "base", "--max_steps", 2, "--output", "run")
    assert code == 0, err
    assert "all 20 next tokens agree" in export(Path("run"), "gguf", "model.gguf")
    read = AutoTokenizer.from_pretrained(".", gguf_file="model.gguf")
    for row in chat_rows(20, seed=3):
        text = row["messages"][0]["content"]
        assert read(text, add_special_tokens=False) == tokenizer(text, add_special_tokens=False)
