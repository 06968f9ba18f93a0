"""Decoders as classifiers: the head reads the last token, also where the tokenizer has no padding token."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    GPT2Config,
    GPT2Model,
    LlamaConfig,
    LlamaForCausalLM,
)

import pippin
from helpers import events, save_tiny_tokenizer

TEXTS = ["the old cat is near", "my bread and cheese", "a hammer under the big saw with my old rope", "duck"]
SMALL = {
    "gpt2": (GPT2Model, GPT2Config, {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64}),
    "llama": (
        LlamaForCausalLM,
        LlamaConfig,
        {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64},
    ),
}


@pytest.mark.parametrize("kind", SMALL)
def test_a_decoder_without_padding_learns_and_answers_as_transformers_does(kind, run_cli, word_file):
    model, config, sizes = SMALL[kind]
    words = save_tiny_tokenizer(Path("decoder"))
    torch.manual_seed(0)
    model(config(vocab_size=words, **sizes)).save_pretrained("decoder")
    settings = Path("decoder/tokenizer_config.json")
    kept = {name: value for name, value in json.loads(settings.read_text()).items() if name != "pad_token"}
    names = ["input_ids", "attention_mask"]
    settings.write_text(json.dumps({**kept, "eos_token": "[SEP]", "model_input_names": names}))
    code, out, err = run_cli("train", word_file, "--model", "decoder", "--output", "run", "--epochs", 3, "--lr", 3e-3)
    assert code == 0, err
    assert "note: the model names no padding token; '[SEP]' pads its texts." in out
    found = [event["loss"] for event in events("run", "log")]
    assert found[-1] < 0.9 * found[0]
    theirs, tokenizer = AutoModelForSequenceClassification.from_pretrained("run"), AutoTokenizer.from_pretrained("run")
    theirs.eval()
    answers = pippin.load("run").predict(TEXTS)
    for text, answer in zip(TEXTS, answers, strict=True):
        probabilities = theirs(**tokenizer(text, return_tensors="pt")).logits.softmax(-1)[0]
        assert answer.label == theirs.config.id2label[int(probabilities.argmax())]
        assert answer.score == pytest.approx(float(probabilities.max()), abs=1e-5)
