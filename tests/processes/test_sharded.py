"""`--shard`: a model of which each process holds a part, and what is saved of it is an ordinary one."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest
import torch
from groups import finished
from safetensors.torch import load_file

from pippin.errors import PippinError
from pippin.machine.machine import Machine
from pippin.machine.traits import traits_of
from pippin.plan.sharing import choose_weights
from pippin.recipe import Recipe

FLAGS = ("--eval_strategy", "steps", "--eval_steps", 2, "--load_best_model_at_end", "--metric_for_best_model", "loss")


@pytest.fixture
def without_dropout(tiny_model) -> Path:
    """Which parts draw what differs."""
    shutil.copytree(tiny_model, "plain")
    settings = json.loads(Path("plain/config.json").read_text())
    settings |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    Path("plain/config.json").write_text(json.dumps(settings))
    return Path("plain")


def weights(folder: str) -> dict[str, torch.Tensor]:
    return load_file(Path(folder, "model.safetensors"))


def assert_close(one: str, other: str) -> None:
    found, wanted = weights(one), weights(other)
    assert found.keys() == wanted.keys()
    for name in (name for name in wanted if "key.bias" not in name):  # whose gradient is rounding alone
        torch.testing.assert_close(found[name], wanted[name], rtol=0, atol=2e-5)


def test_parts_train_as_the_whole(nursery, words, without_dropout):
    """Of batches that three processes cannot share evenly, with rows that fill no whole batch of evaluation."""
    model = ("--model", without_dropout, "--batch_size", 11, "--per_device_eval_batch_size", 5)
    runs = nursery.group(words("parts", "--shard", *FLAGS, *model), 3)
    finished(*runs, *nursery.group(words("whole", *FLAGS, *model), 0))
    assert_close("parts", "whole")
    parts, whole = (json.loads(Path(name, "all_results.json").read_text()) for name in ("parts", "whole"))
    for name in ("train_loss", "eval_loss", "eval_accuracy"):
        assert parts[name] == pytest.approx(whole[name], abs=1e-5)
    from transformers import AutoModelForSequenceClassification

    assert type(AutoModelForSequenceClassification.from_pretrained("parts")).__name__ == "BertForSequenceClassification"


def test_a_stopped_run_is_resumed_by_one(nursery, words, without_dropout):
    model = ("--model", without_dropout, "--max_steps", 8)
    runs = nursery.group(words("stopped", "--shard", *model), 2)
    runs[0].wait_for("step 3/8")
    runs[0].send_signal(signal.SIGTERM)
    for run in runs:
        out, _ = run.communicate()
        assert run.returncode == 143, out
    finished(*nursery.group(words("stopped", "--resume", *model), 0), *nursery.group(words("whole", *model), 0))
    assert_close("stopped", "whole")


@pytest.mark.parametrize(
    ("settings", "kind", "processes", "told"),
    [
        ({}, "cuda", 1, "spreads a model over several processes, and there is one"),
        ({}, "mps", 2, "the Apple GPU has no collectives"),
        ({"fp16": True}, "cuda", 2, "use --bf16"),
        ({"reduce": "exact"}, "cuda", 2, "--reduce exact needs whole gradients"),
        ({"freeze": "core"}, "cuda", 2, "leave out --freeze"),
        ({"optim": "adafactor"}, "cuda", 2, "use adamw"),
    ],
)
def test_what_cannot_be_spread_is_refused(settings, kind, processes, told):
    traits = traits_of(kind, "a device")
    machine = Machine("Linux", "6", "x86_64", "3.12", "2.13", "5.0", 2, None, (traits,), processes=processes)
    with pytest.raises(PippinError, match=f"--shard: .*{told}"):
        choose_weights(Recipe(shard=True, **settings), machine, traits, "first token")


def test_language_models_are_not_spread():
    machine = Machine("Linux", "6", "x86_64", "3.12", "2.13", "5.0", 2, None, (traits_of("cuda", "one"),), processes=2)
    with pytest.raises(PippinError, match="--shard: language models are not spread"):
        choose_weights(Recipe(shard=True), machine, traits_of("cuda", "one"), "targets")
