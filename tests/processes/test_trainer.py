"""Hugging Face's Trainer, and Pippin's in its place, in several processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pippin.runs.checkpoints.manifest import problem_of

PROGRAM = Path(__file__).parent / "with_trainer.py"


@pytest.fixture
def run(nursery):
    def call(package: str, folder: str, processes: int, **settings: object) -> str:
        """Run the script to its end; returns what all processes printed."""
        given = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
        runs = nursery.group([PROGRAM, package, folder, *given], processes if processes > 1 else 0)
        out = "".join(each.communicate()[0] for each in runs)
        assert [each.returncode for each in runs] == [0] * len(runs), out
        return out

    return call


def log(folder: str) -> dict:
    return json.loads(Path(folder, "log.json").read_text())


def weights(folder: str) -> dict[str, torch.Tensor]:
    return load_file(Path(folder, "model/model.safetensors"))


def assert_same_weights(one: str, other: str, within: float) -> None:
    found, wanted = weights(one), weights(other)
    # The gradient of attention's key biases is rounding, of which Adam makes steps.
    for name in (name for name in wanted if "key.bias" not in name):
        torch.testing.assert_close(found[name], wanted[name], rtol=0, atol=within)


def test_losses_and_weights_are_those_of_the_whole_batch_in_one_process(run):
    run("transformers", "one", 1, per_device_train_batch_size=16)
    told = run("pippin", "two", 2, per_device_train_batch_size=4, gradient_accumulation_steps=2)
    assert log("two")["losses"] == pytest.approx(log("one")["losses"], abs=1e-5)
    assert log("two")["eval_loss"] == pytest.approx(log("one")["eval_loss"], abs=1e-5)
    assert_same_weights("two", "one", 1e-4)
    assert told.count("packed: end to end without padding") == 1, "said once, not once for each process"
    run("pippin", "wide", 2, per_device_train_batch_size=8)
    assert log("wide")["losses"] == pytest.approx(log("one")["losses"], abs=1e-5), "also without accumulation"


def test_checkpoints_are_whole_and_resumed_to_the_same_weights(run):
    settings = {"per_device_train_batch_size": 4, "save_strategy": "steps", "save_steps": 2}
    run("pippin", "whole", 2, **settings)
    checkpoint = Path("whole/checkpoint-2")
    assert problem_of(checkpoint) is None
    names = {path.name for path in checkpoint.iterdir()}
    assert {"rng_state_0.pth", "rng_state_1.pth", "pippin_rng_state_1.safetensors", "manifest.json"} <= names
    Path("again").mkdir()
    checkpoint.rename("again/checkpoint-2")
    run("pippin", "again", 2, resume=True, **settings)
    assert log("again")["losses"] == log("whole")["losses"]
    for name, tensor in weights("whole").items():
        assert torch.equal(weights("again")[name], tensor), name
