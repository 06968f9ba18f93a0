"""The short comparison before training: what it costs, says and stops. Marked tests run on the emulated Apple GPU."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from helpers import events, with_traits
from pippin.commands.planning import plan_job
from pippin.commands.verify import verify as first
from pippin.commands.verify.verify import short_rows, verify_first
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.drivers.cpu import CpuBackend
from pippin.recipe import Recipe
from pippin.report.terminal import Terminal


class Device(CpuBackend):
    """A CPU by another name."""

    kind = "other"
    traits = replace(CpuBackend.traits, is_gpu=True, verifies_first=True)

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")


@pytest.fixture
def job(word_file, tiny_model):
    def make(**settings):
        settings = {"train_file": str(word_file), "model_name_or_path": str(tiny_model), "use_cpu": True, **settings}
        return plan_job(Recipe(**settings), Terminal(quiet=True))

    return make


def test_rows_are_few_short_and_of_different_lengths():
    lengths = np.array([100, 9, 40, 7, 12, 8, 10, 30, 31])
    rows = short_rows(lengths)
    assert len(rows) == 4
    assert lengths[rows].max() == 31
    assert lengths[rows].min() == 7
    assert len(short_rows(np.array([500, 400]))) == 2
    assert len(short_rows(np.full(5000, 200))) == 4


def test_a_sound_device_is_said_to_be(job):
    said: list[str] = []
    found = verify_first(job(), Device(), said.append)
    assert said == [found]
    assert found.startswith("verified: logits, loss and gradients of 4 rows on other in fp32 match the CPU's")


@pytest.mark.parametrize(
    ("wanted", "asks", "compared"),
    [(None, True, True), (None, False, False), ("off", True, False), ("short", False, True)],
)
def test_the_recipe_decides_before_the_device(job, monkeypatch, wanted, asks, compared):
    with_traits(monkeypatch, Device, verifies_first=asks)
    said: list[str] = []
    found = verify_first(job(verify=wanted), Device(), said.append)
    assert found.startswith("verified") is compared
    assert bool(said) is compared
    assert compared or "pippin verify" in found


def test_on_the_cpu_there_is_nothing_to_say(train, word_file):
    out, _ = train(word_file, "--verify", "short", "--use_cpu")
    assert "verified" not in out
    assert json.loads(Path("run/report.json").read_text())["verification"] == ""
    assert "before training" not in Path("run/README.md").read_text()


def test_a_faulty_device_stops_the_run_and_is_located(job, monkeypatch):
    def spoilt(self, model):
        model.bert.encoder.layer[1].output.dense.register_forward_hook(lambda _, __, output: output * 1.01)

    monkeypatch.setattr(Device, "guard", spoilt)
    with pytest.raises(PippinError) as error:
        verify_first(job(), Device(), lambda text: None)
    for word in ("device other", "first in bert.encoder.layer.1.output.dense", "--use_cpu", "--verify off"):
        assert word in str(error.value)


def test_the_walk_is_spared_where_all_agrees(job, monkeypatch):
    monkeypatch.setattr(first, "located", lambda *_: 1 / 0)
    assert verify_first(job(), Device(), lambda text: None)


def test_no_memory_for_it_is_no_reason_to_stop(job, monkeypatch):
    def full(self, model):
        raise RuntimeError("other backend out of memory")

    monkeypatch.setattr(Device, "guard", full)
    assert verify_first(job(), Device(), lambda text: None) == "not verified: there was not enough memory for it."


def test_other_errors_of_the_device_are_raised(job, monkeypatch):
    def broken(self, model):
        raise RuntimeError("the operator failed")

    monkeypatch.setattr(Device, "guard", broken)
    with pytest.raises(RuntimeError, match="the operator failed"):
        verify_first(job(), Device(), lambda text: None)


@pytest.mark.emulated_mps
@pytest.mark.usefixtures("compared_first")
class TestOnTheAppleGpu:
    def test_every_run_begins_with_it(self, train, word_file):
        out, _ = train(word_file)
        assert out.count("verified: logits, loss and gradients of 4 rows on mps in fp32") == 1
        assert json.loads(Path("run/report.json").read_text())["verification"].startswith("verified: ")
        assert "against the CPU, before training: verified: " in Path("run/README.md").read_text()

    def test_it_can_be_left_out(self, train, word_file):
        out, _ = train(word_file, "--verify", "off")
        assert "verified" not in out
        assert json.loads(Path("run/report.json").read_text())["verification"].startswith("not verified")

    def test_it_changes_nothing(self, train, word_file):
        flags = [word_file, "--logging_steps", 1]
        train(*flags, folder="with")
        train(*flags, "--verify", "off", folder="without")
        losses = [[event["loss"] for event in events(folder, "log")] for folder in ("with", "without")]
        assert losses[0] == losses[1]

    def test_its_memory_is_given_back(self, job, mps):
        """At once, though a model with a frozen part holds on to itself."""
        planned = job(use_cpu=False, freeze="1")
        before = mps.memory()
        verify_first(planned, get_backend("mps"), lambda text: None)
        assert mps.memory().allocated == before.allocated
        assert mps.memory().peak > before.peak

    def test_a_wrong_kernel_stops_the_run_before_it_begins(self, run_cli, word_file, tiny_model, mps):
        with mps.wrong("aten::linear", lambda result: result * 1.01):
            code, _, error = run_cli("train", word_file, "--model_name_or_path", tiny_model, "--output_dir", "run")
        assert code == 2
        assert "first in bert.encoder.layer.0.attention.self.query" in error
        assert "--verify off" in error
        assert not Path("run/run.json").exists()
