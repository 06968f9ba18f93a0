"""A task that none of Pippin's own packages know, with a label for each token: all that a run does works for it."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers import events, make_rows
from pippin.commands.predictor import Predictor
from pippin.data.collate import NO_LABEL, Collator, Shapes
from pippin.data.encoding import Encoded
from pippin.tasks import registry
from toy_task import NAMES, VowelTask

FLAGS = [
    "--task_name", "vowels", "--data_dir", "letters", "--do_train", "--do_eval", "--do_predict",
    "--num_train_epochs", 3, "--learning_rate", "1e-2", "--per_device_train_batch_size", 8, "--logging_steps", 3,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _vowels(monkeypatch, write_rows) -> None:
    monkeypatch.setattr(registry, "_REGISTERED", {})
    registry.register(VowelTask())
    Path("letters").mkdir()
    for seed, (split, count) in enumerate({"train": 80, "validation": 24, "test": 24}.items()):
        write_rows(f"letters/{split}.csv", make_rows(count, seed=seed))


@pytest.fixture
def toy(run_cli, tiny_model):
    def call(folder: str, *flags: object) -> tuple[int, str, str]:
        return run_cli("train", *FLAGS, "--model_name_or_path", tiny_model, "--output_dir", folder, *flags)

    return call


def results(folder: str) -> dict[str, float]:
    return json.loads(Path(folder, "all_results.json").read_text())


def test_it_is_trained_judged_used_and_shown(toy, compared_first):
    code, out, error = toy("run")
    assert code == 0, error
    assert "vowels and consonants" in out
    assert "by letter, on the test rows" in out
    assert " by always answering consonant) · loss" in out
    assert results("run")["test_token_accuracy"] > 0.95
    plan = {
        name: each
        for group in json.loads(Path("run/run.json").read_text())["plan"].values()
        for name, each in group.items()
    }
    assert plan["last_layer"] == {"value": "all tokens", "reason": "the head reads every token"}
    page = Path("run/report.html").read_text()
    assert "By letter, on the test rows" in page
    assert "Tokens by first letter" in page
    assert "pipeline_tag: token-classification" in Path("run/README.md").read_text()
    with Path("run/predictions.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    assert all(len(row["true_label"].split()) == len(row["label"].split()) for row in rows)
    first = rows[0]["text"].split()
    assert rows[0]["true_label"].split() == [NAMES[word[0] in "aeiou"] for word in first]


def test_a_predictor_reads_it(toy, run_cli):
    assert toy("run")[0] == 0
    (answer,) = Predictor.load("run").predict(["a old cat"])
    assert answer.label == "vowel vowel consonant"
    code, out, error = run_cli("predict", "run", "--text", "the old cat")
    assert code == 0, error
    assert "consonant vowel consonant" in out


@pytest.mark.parametrize("flags", [[], ["--pad_to_max_length"], ["--bf16"]], ids=["packed", "padded", "bf16"])
def test_resumed_equals_uninterrupted(toy, run_cli, interrupt, flags):
    assert toy("whole", "--save_steps", 7, *flags)[0] == 0
    interrupt(12)
    assert toy("run", "--save_steps", 7, *flags)[0] == 143
    code, _, error = run_cli("resume", "run")
    assert code == 0, error
    assert Path("run/model.safetensors").read_bytes() == Path("whole/model.safetensors").read_bytes()
    assert results("run")["eval_loss"] == results("whole")["eval_loss"]


def test_packed_padded_and_in_parts_are_one_result(toy, tiny_model):
    """The loss of a step is divided by its labelled tokens, however the step is cut."""
    losses = {}
    shutil.copytree(tiny_model, "still")
    config = json.loads(Path("still/config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    Path("still/config.json").write_text(json.dumps(config))
    quiet = ["--max_steps", 6, "--logging_steps", 1, "--learning_rate", "1e-3", "--model_name_or_path", "still"]
    quiet += ["--train_sampling_strategy", "random"]  # the same on every device
    for name, flags in {
        "packed": [],
        "padded": ["--pad_to_max_length"],
        "parts": ["--per_device_train_batch_size", 2, "--gradient_accumulation_steps", 4],
    }.items():
        code, _, error = toy(name, *quiet, *flags)
        assert code == 0, error
        losses[name] = [event["loss"] for event in events(name, "log")]
    assert losses["padded"] == pytest.approx(losses["packed"], rel=1e-4)
    assert losses["parts"] == pytest.approx(losses["packed"], rel=1e-4)


@pytest.mark.parametrize("flags", [["--freeze", "core"], ["--freeze", 1], ["--max_grad_norm", 0]])
def test_other_ways_to_train(toy, flags):
    code, _, error = toy("run", "--max_steps", 4, *flags)
    assert code == 0, error


def test_settings_that_make_no_sense_for_it_are_refused(toy):
    code, _, error = toy("run", "--do_regression")
    assert code == 2
    assert "a letter is no number" in error


def ragged() -> Encoded:
    lengths = [4, 2, 5]
    tokens = np.arange(1, 12, dtype=np.int32)
    return Encoded(tokens, None, np.cumsum([0, *lengths]), tokens.astype(np.int64) + 100, per_token=True)


@pytest.mark.parametrize("pad_left", [False, True])
def test_labels_lie_where_their_tokens_do(pad_left):
    encoded = replace(ragged(), pad_left=pad_left)
    padded = Collator()(encoded, np.array([2, 1]))
    assert padded.labels.shape == padded.inputs["input_ids"].shape
    mask = padded.inputs["attention_mask"].bool()
    assert torch.equal(padded.labels[mask], padded.inputs["input_ids"][mask] + 100)
    assert (padded.labels[~mask] == NO_LABEL).all()
    packed = Collator(packs=True)(encoded, np.array([2, 1]))
    assert torch.equal(packed.labels, packed.inputs["input_ids"] + 100)
    filled = Collator(packs=True, shapes=Shapes(2, (10,), 5))(encoded, np.array([2, 1]))
    assert filled.labels.tolist()[0] == [*packed.labels.tolist()[0], *[NO_LABEL] * 3]


@pytest.mark.parametrize("flags", [[], ["--measure"]])
def test_preflight_forecasts_it(run_cli, tiny_model, flags):
    code, out, error = run_cli("preflight", *FLAGS, "--model_name_or_path", tiny_model, *flags)
    assert code == 0, error
    assert "fits" in out


@pytest.mark.emulated_mps
def test_the_device_is_compared_with_the_cpu(run_cli, tiny_model):
    code, out, error = run_cli("verify", *FLAGS, "--model_name_or_path", tiny_model)
    assert code == 0, error + out
    assert "The results match the CPU's" in out
