"""Whole runs with a frozen part: kept states change nothing, are used again, and never when they are stale."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from helpers import make_rows
from pippin import cache
from pippin.engine import features
from pippin.models.freezing import FrozenPart
from pippin.plan import frozen

EPOCHS = ("--num_train_epochs", 3, "--use_cpu", "--learning_rate", 0.01, "--eval_strategy", "epoch")


@pytest.fixture
def batches(monkeypatch) -> list[int]:
    """The rows of each batch that went through the frozen part."""
    ran: list[int] = []
    original = features.Features._states

    def counted(self, encoded, wanted):
        ran.append(wanted)
        return original(self, encoded, wanted)

    monkeypatch.setattr(features.Features, "_states", counted)
    return ran


def weights(folder: str) -> dict[str, torch.Tensor]:
    return load_file(Path(folder, "model.safetensors"))


def assert_same(one: str, other: str) -> None:
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name
    figures = [json.loads(Path(folder, "all_results.json").read_text()) for folder in (one, other)]
    for name in ("train_loss", "eval_loss", "eval_accuracy"):
        assert figures[0][name] == figures[1][name], name


def plan_of(folder: str) -> dict:
    return {
        name: each
        for group in json.loads(Path(folder, "run.json").read_text())["plan"].values()
        for name, each in group.items()
    }


@pytest.mark.parametrize("asked", [("--freeze", "core"), ("--freeze", 0), ("--unfreeze", 1), ("--freeze", 2)])
def test_kept_states_give_the_same_bits(train, word_file, asked, batches):
    train(word_file, *asked, *EPOCHS, folder="kept")
    once = sum(batches)
    assert once == 120, "each row once, of training and validation"
    train(word_file, *asked, *EPOCHS, "--cache_frozen", "false", folder="anew")
    assert sum(batches) > 3 * once
    assert_same("kept", "anew")
    assert plan_of("kept")["states"]["value"] == frozen.IN_MEMORY
    assert plan_of("anew")["states"]["value"] == frozen.NOT_KEPT


@pytest.mark.parametrize("asked", [("--freeze", "core"), ("--freeze", 1), ("--freeze", 2)])
def test_padded_rows_give_nearly_the_same(train, word_file, asked):
    padded = (*asked, *EPOCHS, "--pad_to_max_length", "--max_seq_length", 24)
    train(word_file, *padded, folder="kept")
    train(word_file, *padded, "--cache_frozen", "false", folder="anew")
    for name, tensor in weights("kept").items():
        torch.testing.assert_close(tensor, weights("anew")[name], atol=1e-4, rtol=0, msg=name)


def test_frozen_weights_stay_and_the_others_change(train, word_file, tiny_model):
    train(word_file, "--freeze", 1, *EPOCHS)
    before, after = load_file(tiny_model / "model.safetensors"), weights("run")
    for name, tensor in before.items():
        is_frozen = name.startswith(("embeddings.", "encoder.layer.0."))
        assert torch.equal(tensor, after["bert." + name]) == is_frozen, name


def test_the_plan_says_what_is_frozen(train, word_file):
    out, _ = train(word_file, "--train_only", "head", "--use_cpu")
    words = " ".join(out.split())
    assert "frozen core set by --train_only head" in words
    assert "without dropout" in words
    assert "cached features memory" in words
    assert " rows/s" in out
    assert "tokens/s" not in out, "none run through the model"
    out, _ = train(word_file, "--freeze", 1, "--use_cpu", folder="one")
    assert "embeddings and 1 layer " in out
    assert "tokens/s" in out
    out, _ = train(word_file, "--use_cpu", folder="whole")
    assert "frozen" not in out


def test_other_seeds_and_runs_use_what_is_there(train, word_file, batches):
    split = ("--data_seed", 1)
    train(word_file, "--freeze", 1, *EPOCHS, *split, folder="first")
    count = len(batches)
    train(word_file, "--freeze", 1, *EPOCHS, *split, "--seed", 7, folder="other_seed")
    assert len(batches) == count
    train(word_file, "--freeze", 1, *EPOCHS, *split, folder="again")
    assert len(batches) == count
    assert_same("first", "again")
    train(word_file, "--freeze", 1, *EPOCHS, *split, "--overwrite_cache", folder="fresh")
    assert len(batches) == 2 * count


@pytest.mark.parametrize("change", ["weights", "tokens", "layers", "precision", "lengths"])
def test_stale_states_are_not_used(train, word_file, write_rows, tiny_model, tmp_path, run_cli, batches, change):
    model = tmp_path / "model"
    shutil.copytree(tiny_model, model)

    def run(file: Path, *flags: object, folder: str) -> None:
        settings = ("--model_name_or_path", model, "--output_dir", folder, "--max_steps", 4, "--use_cpu")
        code, _, err = run_cli("train", file, *settings, *flags)
        assert code == 0, err

    run(word_file, "--freeze", 1, folder="first")
    count = len(batches)
    run(word_file, "--freeze", 1, folder="again")
    assert len(batches) == count
    file, flags = word_file, ("--freeze", 1)
    if change == "weights":
        tensors = load_file(model / "model.safetensors")
        tensors["encoder.layer.0.output.dense.bias"][3] += 1e-6
        save_file(tensors, model / "model.safetensors", {"format": "pt"})
    elif change == "tokens":
        rows = make_rows(120)
        for row in rows:
            row["text"] = row["text"].replace("old", "new")
        file = write_rows("others.csv", rows)
    else:
        more = {
            "layers": ("--freeze", 0),
            "precision": ("--freeze", 1, "--bf16"),
            "lengths": ("--freeze", 1, "--pad_to_max_length"),
        }
        flags = more[change]
    run(file, *flags, folder="other")
    kept = sum(batches[count:])
    run(file, *flags, "--cache_frozen", "false", folder="anew")
    assert kept == 120
    if change not in ("precision", "lengths"):
        assert_same("other", "anew")


def test_weights_above_the_frozen_part_may_change(train, word_file, tiny_model, batches):
    """A model that was trained on keeps the states of its frozen part."""
    train(word_file, "--freeze", 1, *EPOCHS, folder="first")
    part = [FrozenPart(_model(folder), 1) for folder in ("first", tiny_model)]
    for (name, one), (other_name, other) in zip(part[0].tensors(), part[1].tensors(), strict=True):
        assert name == other_name
        assert torch.equal(one, other)


def _model(folder) -> torch.nn.Module:
    from transformers import AutoModelForSequenceClassification

    return AutoModelForSequenceClassification.from_pretrained(folder, num_labels=3)


def test_states_that_are_large_are_mapped_from_the_disk(train, word_file, monkeypatch, batches):
    train(word_file, "--freeze", 1, *EPOCHS, folder="memory")
    monkeypatch.setenv(cache.VARIABLE, str(Path("other_cache").resolve()))
    monkeypatch.setattr(frozen, "_MOST_IN_MEMORY", 0)
    monkeypatch.setattr(cache, "_MAPPED_BYTES", 0)
    opened = []
    original = cache.get
    monkeypatch.setattr(cache, "get", lambda key: opened.append(original(key)) or opened[-1])
    train(word_file, "--freeze", 1, *EPOCHS, folder="disk")
    assert plan_of("disk")["states"]["value"] == frozen.ON_DISK
    mapped = [entry["float32"] for entry in opened if entry]
    assert len(mapped) == 2
    assert all(isinstance(array, np.memmap) for array in mapped)
    assert_same("memory", "disk")


@pytest.mark.parametrize("size", [0, 1 << 28])
def test_without_room_on_the_disk_the_results_are_the_same(train, word_file, monkeypatch, size):
    train(word_file, "--freeze", 1, *EPOCHS, folder="kept")
    monkeypatch.setenv(cache.VARIABLE, str(Path("other_cache").resolve()))
    monkeypatch.setattr(frozen, "_MOST_IN_MEMORY", size)
    monkeypatch.setattr(cache, "_make_room", lambda *_: None)
    train(word_file, "--freeze", 1, *EPOCHS, folder="full")
    assert_same("kept", "full")


@pytest.mark.parametrize("asked", [("--freeze", "core"), ("--freeze", 1)])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(train, run_cli, word_file, monkeypatch, asked, tiny_model):
    train(word_file, *asked, *EPOCHS, folder="whole")
    settings = ("--model_name_or_path", tiny_model, "--output_dir", "stopped")
    with monkeypatch.context() as patch:
        _stop_after(patch, 7)
        code, _, err = run_cli("train", word_file, *asked, *EPOCHS, *settings)
    assert code != 0
    assert "step 7" in err
    code, _, err = run_cli("resume", "stopped")
    assert code == 0, err
    assert_same("whole", "stopped")


def test_another_frozen_part_cannot_go_on(train, run_cli, word_file, monkeypatch, tiny_model):
    _stop_after(monkeypatch, 3)
    settings = ("--model_name_or_path", tiny_model, "--output_dir", "run", *EPOCHS)
    run_cli("train", word_file, "--freeze", 1, *settings)
    code, _, err = run_cli("train", word_file, "--freeze", "core", *settings, "--resume")
    assert code != 0
    assert "frozen part 1 → core" in err


def _stop_after(monkeypatch, step: int) -> None:
    import signal

    from pippin.engine.fitting import FittingStep

    original: Callable = FittingStep.__call__

    def stop(self, rows, number):
        found = original(self, rows, number)
        if number == step:
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(FittingStep, "__call__", stop)


def test_batches_that_do_not_fit_are_halved(train, word_file, monkeypatch):
    train(word_file, "--freeze", 1, *EPOCHS, folder="kept")
    monkeypatch.setenv(cache.VARIABLE, "off")
    original, sizes = features.Features._states, []

    def small(self, encoded, wanted):
        if len(encoded.tokens) > 100:
            raise MemoryError
        sizes.append(len(encoded.tokens))
        return original(self, encoded, wanted)

    monkeypatch.setattr(features.Features, "_states", small)
    train(word_file, "--freeze", 1, *EPOCHS, folder="small")
    assert max(sizes) <= 100
    assert_same("kept", "small")


def test_the_saved_model_is_one_of_transformers(train, word_file):
    import pippin

    train(word_file, "--freeze", "core", *EPOCHS)
    texts = [row["text"] for row in make_rows(9, seed=5)]
    found = pippin.load("run").predict(texts)
    model, tokenizer = _model("run").eval(), _tokenizer("run")
    with torch.inference_mode():
        scores = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits.softmax(-1).amax(-1)
    np.testing.assert_allclose([answer.score for answer in found], scores, atol=1e-5)


def _tokenizer(folder: str):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


@pytest.mark.emulated_mps
@pytest.mark.parametrize("asked", [("--freeze", "core"), ("--freeze", 1)])
def test_on_an_apple_gpu_as_on_the_cpu(train, word_file, asked):
    settings = ("--max_steps", 6, "--learning_rate", 0.01, "--train_sampling_strategy", "sequential")
    train(word_file, *asked, *settings, "--device", "mps", folder="kept")
    train(word_file, *asked, *settings, "--device", "mps", "--cache_frozen", "false", folder="anew")
    assert plan_of("kept")["states"]["value"] == frozen.IN_MEMORY
    for name, tensor in weights("kept").items():
        torch.testing.assert_close(tensor, weights("anew")[name], atol=2e-5, rtol=0, msg=name)
