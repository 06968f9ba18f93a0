"""Jobs on the (emulated) Apple GPU, chosen by default, give the CPU's numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers import events, make_rows, read_csv

pytestmark = pytest.mark.emulated_mps

#: The sums are taken in the same order, but attention runs other code.
FP32 = 2e-5


@pytest.fixture
def sober_model(tiny_model, tmp_path) -> Path:
    """The tiny model without dropout, whose draws differ from device to device."""
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    config = AutoConfig.from_pretrained(tiny_model, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    folder = tmp_path / "sober"
    AutoModel.from_pretrained(tiny_model, config=config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_model).save_pretrained(folder)
    return folder


def losses(folder: str) -> list[float]:
    return [event["loss"] for event in events(folder, "log")]


SETTINGS = {
    "plain": [],
    "accumulation": ["--gradient_accumulation_steps", 4, "--per_device_train_batch_size", 4],
    "checkpointing": ["--gradient_checkpointing"],
    "unfused": ["--optim", "adamw_torch"],
    "sgd": ["--optim", "sgd", "--learning_rate", "0.1"],
    "adafactor": ["--optim", "adafactor"],
    "smoothing": ["--label_smoothing_factor", "0.1"],
    "padded": ["--pad_to_max_length"],
}


@pytest.mark.parametrize("flags", SETTINGS.values(), ids=SETTINGS)
def test_losses_scores_and_predictions(run_cli, word_file, write_rows, sober_model, flags):
    test = write_rows("test.csv", make_rows(25, seed=3))
    common = ["train", word_file, "--test_file", test, "--model_name_or_path", sober_model, "--max_steps", 12]
    common += ["--logging_steps", 1, "--learning_rate", "3e-3", *flags]
    for folder, device in (("gpu", []), ("cpu", ["--use_cpu"])):
        code, _, error = run_cli(*common, *device, "--output_dir", folder)
        assert code == 0, error
    plan = {
        name: each
        for group in json.loads(Path("gpu/run.json").read_text())["plan"].values()
        for name, each in group.items()
    }
    assert plan["device"]["value"] == "mps", "the device is used without being named"
    assert losses("gpu") == pytest.approx(losses("cpu"), abs=FP32)
    on_gpu, on_cpu = (json.loads(Path(folder, "all_results.json").read_text()) for folder in ("gpu", "cpu"))
    assert on_gpu["eval_loss"] == pytest.approx(on_cpu["eval_loss"], abs=FP32)
    ours, theirs = read_csv("gpu/predictions.csv"), read_csv("cpu/predictions.csv")
    assert [row["label"] for row in ours] == [row["label"] for row in theirs]
    assert [float(row["score"]) for row in ours] == pytest.approx([float(row["score"]) for row in theirs], abs=1e-4)


def test_numbers_to_predict_stay_in_float32(run_cli, write_rows, sober_model):
    rows = [{"text": row["text"], "score": len(row["text"]) / 10} for row in make_rows(60)]
    for folder, device in (("gpu", []), ("cpu", ["--use_cpu"])):
        code, _, error = run_cli(
            "train", write_rows("r.csv", rows), "--do_regression", "--model_name_or_path", sober_model,
            "--max_steps", 8, "--logging_steps", 1, "--output_dir", folder, *device,
        )  # fmt: skip
        assert code == 0, error
    assert losses("gpu") == pytest.approx(losses("cpu"), rel=1e-4)


@pytest.mark.parametrize("flag", ["--bf16", "--fp16"])
def test_half_precision_learns(train, word_file, flag):
    flags = ["--num_train_epochs", "10", "--learning_rate", "5e-3", flag]
    assert train(word_file, *flags)[1]["eval_accuracy"] > 0.9


@pytest.mark.parametrize(
    ("mac", "flag", "words"),
    [
        ({"macos": "13.6", "release": "2.8.0"}, "--bf16", "macOS 14"),
        ({"release": "2.5.1"}, "--bf16", "torch 2.6"),
        ({"release": "2.7.0"}, "--fp16", "torch 2.8"),
    ],
)
def test_half_precision_that_this_mac_lacks_is_refused(run_cli, mps, word_file, tiny_model, mac, flag, words):
    with mps.pretend(**mac):
        code, _, error = run_cli("train", word_file, flag, "--model_name_or_path", tiny_model, "--output_dir", "run")
    assert code == 2
    assert flag in error
    assert words in error


def test_same_seed_same_run(train, word_file):
    """Dropout draws from the device's own generator, which the seed sets."""
    first, second, other = (
        train(word_file, "--logging_steps", 1, "--seed", seed, folder=folder) and losses(folder)
        for folder, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    assert first == second
    assert first != other


def test_no_copy_is_left_unwaited_for(train, word_file, mps):
    before = mps.non_blocking_copies()
    train(word_file)
    assert mps.non_blocking_copies() == before


def test_fused_optimiser_is_the_default(train, word_file, mps):
    with mps.calls() as counted:
        train(word_file, steps=3)
    assert counted["aten::_fused_adamw_"] >= 3
    assert counted["attention: composite, for training"]
    assert counted["attention: fused, for evaluation"], "evaluation runs other code than training"
    assert counted["aten::linear_backward"]
