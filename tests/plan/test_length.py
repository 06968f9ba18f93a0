"""How much of long texts is read: all, up to the model's limit, unless a length was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from helpers import make_rows, save_tiny_tokenizer
from pippin.plan.facts import Rows
from pippin.plan.length import choose_max_length, enough_tokens, most_tokens
from pippin.recipe import Recipe


@pytest.mark.parametrize(
    ("settings", "limit", "longest", "chosen", "reason"),
    [
        ({}, 512, 40, 128, "longer texts are truncated"),
        ({}, 512, 200, 200, "the longest text has so many"),
        ({}, 512, 512, 512, "the model's limit"),
        ({}, 64, 64, 64, "the model's limit"),
        ({}, None, 300, 300, "the longest text has so many"),
        ({}, None, 2048, 2048, "tokens; longer texts are truncated"),
        ({"max_seq_length": 30}, 512, 30, 30, "longer texts are truncated"),
        ({"max_seq_length": 600}, 512, 512, 512, "the model's limit (--max_seq_length is 600)"),
        ({"do_train": True}, 512, 128, 128, "longer texts are truncated"),
    ],
)
def test_the_length(settings, limit, longest, chosen, reason):
    recipe = Recipe(**settings)
    assert longest <= most_tokens(recipe, limit)
    assert enough_tokens(recipe, limit, longest) == chosen
    choice = choose_max_length(recipe, limit, Rows(np.array([5, longest])))
    assert choice.value == chosen
    assert reason in choice.reason


def test_long_texts_are_read_whole_and_what_is_cut_is_a_warning(run_cli, write_rows, tmp_path):
    from transformers import BertConfig, BertModel

    vocabulary = save_tiny_tokenizer(tmp_path / "model")
    config = BertConfig(
        vocab_size=vocabulary, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=300,
    )  # fmt: skip
    BertModel(config).save_pretrained(tmp_path / "model")
    settings = tmp_path / "model" / "tokenizer_config.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "model_max_length": 300}))
    rows = [{**row, "text": " ".join(["the old"] * 100 + [row["text"]])} for row in make_rows(40)]
    words = ("train", write_rows("long.csv", rows), "--model", "model", "--max_steps", 1, "--overwrite_output_dir")
    code, out, err = run_cli(*words, "--output", "whole")
    assert code == 0, err
    assert "were cut" not in out + err
    length = json.loads(Path("whole/run.json").read_text())["plan"]["batches"]["max_length"]["value"]
    assert 202 < length < 230
    code, out, err = run_cli(*words, "--output", "cut", "--do_train")
    assert "40 of 40 texts are longer than 128 tokens and were cut. To read more of them: --max_seq_length 300" in out
