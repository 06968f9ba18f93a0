"""Settings and mishaps of whole jobs: best models, copies, switches, errors on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers import events


def test_same_seed_same_numbers_other_seed_others(train, word_file):
    first = train(word_file, folder="a")[1]["train_loss"]
    assert train(word_file, folder="b")[1]["train_loss"] == first
    assert train(word_file, "--seed", "7", folder="c")[1]["train_loss"] != first


def test_loss_is_logged_even_in_a_short_run(train, word_file):
    train(word_file, steps=2)
    assert len(events("run", "log")) == 2
    assert all(event["loss"] > 0 for event in events("run", "log"))


def test_best_model_is_kept_and_copies_are_limited(train, word_file):
    out, results = train(
        word_file, "--num_train_epochs", "6", "--learning_rate", "2e-2", "--save_strategy", "epoch",
        "--save_total_limit", "1", "--metric_for_best_model", "loss", "--load_best_model_at_end",
    )  # fmt: skip
    best = min(events("run", "evaluation"), key=lambda event: event["eval_loss"])
    assert results["eval_loss"] == pytest.approx(best["eval_loss"], rel=1e-4)
    copies = {path.name for path in Path("run/checkpoints").iterdir()}
    last = {
        name: each
        for group in json.loads(Path("run/run.json").read_text())["plan"].values()
        for name, each in group.items()
    }["steps"]["value"]
    assert copies == {f"step-{best['step']}", f"step-{last}"}
    from transformers import AutoModelForSequenceClassification

    AutoModelForSequenceClassification.from_pretrained(f"run/checkpoints/step-{last}")


def test_early_stopping(train, word_file):
    _, results = train(
        word_file, "--num_train_epochs", "30", "--learning_rate", "1e-9", "--early_stopping_patience", "2"
    )
    assert results["epoch"] == 3.0, "the first evaluation, and two without gain"
    assert json.loads(Path("run/report.json").read_text())["stopped_early"]


@pytest.mark.parametrize(
    "flags",
    [
        ["--bf16"],
        ["--gradient_checkpointing"],
        ["--neftune_noise_alpha", "5"],
        ["--optim", "adafactor"],
        ["--lr_scheduler_type", "reduce_lr_on_plateau"],
        ["--lr_scheduler_type", "reduce_lr_on_plateau", "--metric_for_best_model", "accuracy"],
        ["--lr_scheduler_type", "cosine_with_restarts", "--lr_scheduler_kwargs", '{"num_cycles": 2}'],
        ["--full_determinism"],
        ["--dataloader_drop_last", "--eval_on_start", "--logging_first_step"],
    ],
)
def test_training_switches(train, word_file, flags):
    import torch

    try:
        _, results = train(word_file, *flags)
    finally:
        torch.use_deterministic_algorithms(False)
    assert 0 < results["train_loss"] < 2


def test_divergence_stops_with_a_plain_message(run_cli, word_file, tiny_model):
    code, _, err = run_cli(
        "train", word_file, "--model_name_or_path", tiny_model, "--output_dir", "run", "--learning_rate", "1",
        "--max_grad_norm", "0", "--optim", "sgd", "--max_steps", "200", "--label_smoothing_factor", "0",
        "--head_learning_rate", "1", "--lr_scheduler_type", "constant", "--neftune_noise_alpha", "1e38",
    )  # fmt: skip
    assert code == 2
    assert "the loss of step 1 is not finite" in err
    assert json.loads(Path("run/run.json").read_text())["status"] == "failed"


def test_schedule_that_cannot_be_made(run_cli, word_file, tiny_model):
    code, _, err = run_cli(
        "train", word_file, "--model_name_or_path", tiny_model, "--output_dir", "run", "--max_steps", "2",
        "--lr_scheduler_type", "warmup_stable_decay", "--lr_scheduler_kwargs", '{"no_such": 1}',
    )  # fmt: skip
    assert code == 2
    assert "--lr_scheduler_type warmup_stable_decay with --lr_scheduler_kwargs" in err


def test_best_model_is_kept_although_copies_fall_on_other_steps(train, word_file):
    _, results = train(
        word_file, "--num_train_epochs", "6", "--learning_rate", "2e-2", "--eval_strategy", "epoch", "--save_strategy",
        "steps", "--save_steps", "5", "--load_best_model_at_end", "--metric_for_best_model", "loss",
    )  # fmt: skip
    best = min(events("run", "evaluation"), key=lambda event: event["eval_loss"])
    assert results["eval_loss"] == pytest.approx(best["eval_loss"], rel=1e-4)
    assert json.loads(Path("run/report.json").read_text())["best_step"] == best["step"]


def test_the_best_copy_goes_when_no_copies_were_asked_for(train, word_file):
    train(word_file, "--save_strategy", "no", "--load_best_model_at_end", "--num_train_epochs", "2")
    assert not Path("run/checkpoints").exists()


def test_checkpoints_can_be_used_on_their_own(train, word_file, run_cli):
    train(word_file, "--save_steps", "2", "--save_total_limit", "2")
    code, out, err = run_cli("predict", "run/checkpoints/step-2", "--text", "the dog")
    assert code == 0, err
    assert Path("run/checkpoints/step-2/tokenizer.json").is_file()


def test_training_on_from_the_folder_that_is_overwritten(train, word_file, run_cli):
    train(word_file)
    code, _, err = run_cli(
        "train", word_file, "--model_name_or_path", "run", "--output_dir", "run", "--overwrite_output_dir",
        "--max_steps", "2",
    )  # fmt: skip
    assert code == 0, err
    assert Path("run/model.safetensors").is_file()


def test_a_run_is_not_cleared_for_one_that_cannot_start(train, word_file, run_cli, tiny_model):
    train(word_file)
    before = Path("run/model.safetensors").read_bytes()
    for wrong in (
        ["--gradient_checkpointing", "--gradient_checkpointing_kwargs", '{"foo": 1}'],
        ["--tf32", "--use_cpu"],
        ["--lr_scheduler_type", "warmup_stable_decay", "--lr_scheduler_kwargs", '{"no_such": 1}'],
    ):
        code, _, err = run_cli(
            "train", word_file, "--model_name_or_path", tiny_model, "--output_dir", "run", "--overwrite_output_dir",
            *wrong,
        )  # fmt: skip
        assert code == 2, err
        assert Path("run/model.safetensors").read_bytes() == before


def test_evaluation_follows_from_eval_strategy(train, word_file):
    _, results = train(word_file, "--do_train", "--eval_strategy", "epoch", "--num_train_epochs", "1")
    assert "eval_accuracy" in results


@pytest.mark.parametrize(
    "words",
    [
        "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8 GiB",
        "MPS backend out of memory (MPS allocated: 5.0 GB, other allocations: 1 GB, max allowed: 9 GB). Tried to",
        "[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: not enough memory: you tried to allocate 99 bytes",
    ],
)
def test_out_of_memory_says_what_to_type(run_cli, word_file, tiny_model, monkeypatch, words):
    def fail(*arguments: object) -> None:
        raise RuntimeError(words)

    monkeypatch.setattr("pippin.engine.steps.eager.EagerStep.gradients", fail)
    code, _, err = run_cli("train", word_file, "--model_name_or_path", tiny_model, "--output_dir", "run")
    assert code == 2
    assert "ran out of memory, and smaller batches do not help" in err
    assert "--max_seq_length" in err
    assert json.loads(Path("run/run.json").read_text())["status"] == "failed"


def test_other_errors_keep_their_cause(word_file, tiny_model, monkeypatch):
    import pippin

    def fail(*arguments: object) -> None:
        raise RuntimeError("a bug of ours")

    monkeypatch.setattr("pippin.engine.steps.eager.EagerStep.gradients", fail)
    with pytest.raises(pippin.PippinError, match="an unexpected error .RuntimeError: a bug of ours") as caught:
        pippin.train(word_file, model_name_or_path=tiny_model, output_dir="run", quiet=True)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_tokenizer_of_another_model_is_refused(run_cli, word_file, tiny_model, tmp_path):
    from transformers import AutoTokenizer, BertConfig, BertModel

    small = tmp_path / "small"
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=50, max_position_embeddings=64, **sizes)).save_pretrained(small)
    AutoTokenizer.from_pretrained(tiny_model).save_pretrained(small)
    code, _, error = run_cli("train", word_file, "--model_name_or_path", small, "--output_dir", "run")
    assert code == 2
    assert "vocabulary of 50" in error
    assert "--tokenizer_name" in error
    assert not Path("run").exists()
