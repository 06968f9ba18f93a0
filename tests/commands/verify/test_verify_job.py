"""From the words of a command to a comparison. The device is a CPU by another name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from pippin.commands.planning import plan_job
from pippin.commands.verify import verify as run
from pippin.commands.verify.verify import other_labels
from pippin.machine.drivers.cpu import CpuBackend
from pippin.recipe import Recipe
from pippin.report.terminal import Terminal


class Device(CpuBackend):
    kind = "other"
    traits = replace(CpuBackend.traits, is_gpu=True)
    tf32: bool | None = None

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def set_tf32(self, on: bool) -> None:
        self.tf32 = on


@pytest.mark.parametrize(("asked", "precision"), [(None, "fp32"), (True, "tf32"), (False, "fp32")])
def test_tf32_is_set_and_allowed_for(monkeypatch, word_file, tiny_model, asked, precision):
    device = Device()
    backends = iter([device, CpuBackend()])
    monkeypatch.setattr(run, "get_backend", lambda name: next(backends))  # the job's, and the one to compare with
    recipe = Recipe(train_file=str(word_file), model_name_or_path=str(tiny_model), use_cpu=True, tf32=asked)
    verdict = run.verify(plan_job(recipe, Terminal(quiet=True)))
    assert device.tf32 is asked
    assert (verdict.device, verdict.precision) == ("other", precision)
    assert verdict.agrees
    assert (verdict.findings[0].allowed > 1e-3) == (precision == "tf32")


def test_a_model_that_knows_the_labels_already_has_gradients():
    assert other_labels(np.array([0, 1, 2]), 3).tolist() == [1, 2, 0]
    assert other_labels(np.array([0.5, -1.0]), 1).tolist() == [-0.5, 1.0]


def test_the_jobs_own_configuration_keeps_its_dropout(monkeypatch, word_file, tiny_model):
    backends = iter([Device(), CpuBackend()])
    monkeypatch.setattr(run, "get_backend", lambda name: next(backends))
    recipe = Recipe(train_file=str(word_file), model_name_or_path=str(tiny_model), use_cpu=True)
    job = plan_job(recipe, Terminal(quiet=True))
    run.verify(job)
    assert job.config.hidden_dropout_prob == 0.1
