"""From the words of a command to a comparison. The device is a CPU by another name."""

from __future__ import annotations

import pytest
import torch

from pippin.machine.backends.cpu import CpuBackend
from pippin.planned import plan_job
from pippin.recipe import Recipe
from pippin.report.terminal import Terminal
from pippin.verify import run


class Device(CpuBackend):
    kind = "other"
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
    monkeypatch.setattr(run, "get_backend", lambda name: next(backends))
    recipe = Recipe(train_file=str(word_file), model_name_or_path=str(tiny_model), use_cpu=True, tf32=asked)
    verdict = run.verify(plan_job(recipe, Terminal(quiet=True)))
    assert device.tf32 is asked
    assert (verdict.device, verdict.precision) == ("other", precision)
    assert (verdict.findings[0].allowed > 1e-3) == (precision == "tf32")
