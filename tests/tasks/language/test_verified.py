"""The GPU's logits, losses and gradients of a language model are held against the CPU's, adapters included."""

from __future__ import annotations

import json

import pytest
from small_chat import chat_rows, save_small_chat, write_chats

pytestmark = pytest.mark.emulated_mps


@pytest.mark.parametrize("flags", [("--train", "lora"), ("--train", "all")], ids=lambda flags: flags[1])
@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_the_device_agrees(run_cli, flags, kind):
    save_small_chat("model", kind)
    write_chats("chats.jsonl", chat_rows(30, turns=2))
    code, out, error = run_cli("verify", "chats.jsonl", "--model", "model", "--json", *flags)
    assert code == 0, error
    assert json.loads(out)["agrees"]


def test_a_wrong_kernel_is_found_and_located(run_cli, mps):
    save_small_chat("model")
    write_chats("chats.jsonl", chat_rows(30))
    with mps.wrong("aten::silu", lambda result: result * 1.01):
        code, out, _ = run_cli("verify", "chats.jsonl", "--model", "model", "--train", "lora", "--json")
    assert code == 1
    findings = json.loads(out)["findings"]
    assert "model.layers.0.mlp.act_fn" in {finding["module"] for finding in findings}


def test_training_begins_with_a_short_comparison(run_cli, compared_first):
    save_small_chat("model")
    write_chats("chats.jsonl", chat_rows(30))
    flags = ("--model", "model", "--train", "lora", "--max_steps", 2, "--output", "run")
    code, out, error = run_cli("train", "chats.jsonl", *flags)
    assert code == 0, error
    assert "verified: logits, loss and gradients of 4 rows on mps in fp32 match the CPU's" in out
