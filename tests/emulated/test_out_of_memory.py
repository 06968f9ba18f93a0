"""A real limit on the (emulated) Apple GPU's memory: training and evaluation go on in smaller batches."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers import FILLER, events, read_csv
from pippin.machine.drivers.mps import MpsBackend

pytestmark = pytest.mark.emulated_mps
FLAGS = ["--per_device_train_batch_size", 32, "--logging_steps", 1, "--learning_rate", 1e-3]


@pytest.fixture
def long_file(write_rows) -> Path:
    """Rows of sixty words: activations outweigh the weights."""
    draw = random.Random(0)
    rows = [{"text": " ".join(draw.choices(FILLER, k=60)), "label": "ab"[n % 2]} for n in range(160)]
    return write_rows("long.csv", rows)


@pytest.fixture
def without_dropout(tiny_model, tmp_path) -> Path:
    folder = tmp_path / "tiny-without-dropout"
    shutil.copytree(tiny_model, folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture
def run(run_cli, without_dropout, long_file, mps):
    """A job on the device, and the most memory that it held beyond what was held before."""

    def call(*arguments: object, folder: str, model: object = without_dropout) -> tuple[str, int]:
        mps.forget_graphs()
        mps.reset_peak()
        before = mps.memory().driver
        code, out, err = run_cli("train", long_file, "--model_name_or_path", model, "--output_dir", folder, *arguments)
        assert code == 0, err
        return " ".join(out.split()), mps.memory().driver_peak - before

    return call


def losses(folder: str) -> list[float]:
    return [event["loss"] for event in events(folder, "log")]


def test_training_goes_on_in_smaller_batches(run, mps, monkeypatch):
    monkeypatch.setattr(MpsBackend, "memory_budget", lambda self: None)  # so that it comes as a surprise
    asked = [*FLAGS, "--do_train", "--max_steps", 8]
    _, needed = run(*asked, folder="roomy")
    with mps.memory_limit(int(needed * 0.6)):
        out, _ = run(*asked, folder="narrow")
    told = events("narrow", "smaller_batches")
    assert told
    assert f"at most {told[-1]['rows']} rows go through the model at once" in out
    assert len(losses("narrow")) == 8
    assert losses("narrow") == pytest.approx(losses("roomy"), abs=1e-5)
    plan = {
        name: each
        for group in json.loads(Path("narrow/run.json").read_text())["plan"].values()
        for name, each in group.items()
    }["micro_batch"]
    assert plan == {"value": told[-1]["rows"], "reason": "memory ran out with 32"}


def test_a_limit_that_is_known_is_planned_for(run, mps):
    asked = [*FLAGS, "--do_train", "--max_steps", 4]
    run(*asked, folder="roomy")
    needed = planned("roomy", "needed")
    own = MpsBackend.traits.own_memory_bytes
    for share, folder in ((0.6, "smaller"), (0.25, "narrow")):
        run(*asked, "--memory_limit", (own + share * (needed - own)) / 2**30, folder=folder)
        assert losses(folder) == pytest.approx(losses("roomy"), abs=1e-5)
        assert not events(folder, "smaller_batches")
    assert 32 > planned("smaller", "micro_batch") > planned("narrow", "micro_batch")
    out, _ = run(*asked, "--memory_limit", 0.01, "--force", folder="hopeless")
    assert "memory: does not fit: " in out
    assert planned("hopeless", "activations") == "recomputed"
    assert losses("hopeless") == pytest.approx(losses("roomy"), abs=1e-5)


def planned(folder: str, name: str) -> Any:
    return {
        name: each
        for group in json.loads(Path(folder, "run.json").read_text())["plan"].values()
        for name, each in group.items()
    }[name]["value"]


def test_evaluation_and_prediction_go_on_in_smaller_batches(run, long_file, mps):
    run(*FLAGS, "--do_train", "--max_steps", 2, folder="trained")
    asked = ["--do_eval", "--do_predict", "--test_file", long_file, "--validation_file", long_file]
    _, needed = run(*asked, folder="roomy", model="trained")
    with mps.memory_limit(int(needed * 0.6)):
        out, _ = run(*asked, folder="narrow", model="trained")
    assert out.count("memory ran out during an evaluation") == 1
    assert read_csv("narrow/predictions.csv") == read_csv("roomy/predictions.csv")
