"""Operators that the Apple GPU lacks: run on the CPU and counted, or one error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import pippin
from helpers import events
from pippin.machine.drivers import FALLBACK_VARIABLE
from pippin.machine.drivers.mps_fallback import counted
from pippin.machine.operators import table

pytestmark = pytest.mark.emulated_mps

#: In 2.5 attention with a mask asked for an operator that came to the device in 2.6.
OLD = {"release": "2.5.1", "fallback": False}


@pytest.fixture
def start(run_cli, word_file, tiny_model, monkeypatch):
    def call(*flags: str) -> tuple[int, str, str]:
        monkeypatch.setenv(FALLBACK_VARIABLE, "0" if "off" in flags else "1")
        return run_cli(
            "train", word_file, "--model_name_or_path", tiny_model, "--output_dir", "run", "--max_steps", 4, *flags
        )

    return call


def test_training_goes_on_and_the_report_names_the_operator(start, mps):
    with mps.pretend(**OLD):
        code, out, error = start()
    assert code == 0, error
    assert out.count("no kernel for aten::isneginf") == 1, "said once"
    used = json.loads(Path("run/report.json").read_text())["fallbacks"]
    assert list(used) == ["aten::isneginf"]
    # Two layers in four steps, and in the batches of the evaluation.
    assert used["aten::isneginf"]["calls"] >= 8
    assert 0 < used["aten::isneginf"]["share"] < 1
    assert "ran on the CPU, because the device has no kernel for it: aten::isneginf" in out
    assert [event["operator"] for event in events("run", "fallback")] == ["aten::isneginf"]


def test_nothing_is_said_where_nothing_is_missing(start, mps):
    with mps.pretend(release="2.6.0", fallback=False):
        code, out, error = start()
    assert code == 0, error
    assert "kernel" not in out
    assert json.loads(Path("run/report.json").read_text())["fallbacks"] == {}


def test_off_stops_with_the_operator_and_the_ways_out(start, mps):
    with mps.pretend(**OLD):
        code, out, error = start("--mps_fallback", "off")
    assert code == 2
    for words in (
        "aten::isneginf.out",
        "torch 2.5.1",
        "torch 2.6.0 brings it",
        "pip install 'torch>=2.6.0'",
        "--mps_fallback on",
        "--use_cpu",
    ):
        assert words in error
    assert "Traceback" not in error + out
    assert json.loads(Path("run/run.json").read_text())["status"] == "failed"


def test_each_run_of_a_process_has_its_own_setting(word_file, tiny_model, monkeypatch, mps):
    monkeypatch.setenv(FALLBACK_VARIABLE, "0")  # restored at the end

    def run(setting: str) -> list[str]:
        settings = {"model_name_or_path": tiny_model, "max_steps": 1, "overwrite_output_dir": True, "quiet": True}
        return list(pippin.train(word_file, output_dir="run", mps_fallback=setting, **settings).fallbacks)

    with mps.pretend(**OLD):
        with pytest.raises(pippin.PippinError, match='mps_fallback="on"'):
            run("off")
        assert run("on") == ["aten::isneginf"]
        with pytest.raises(pippin.PippinError, match='mps_fallback="on"'):
            run("off")


def test_losses_do_not_depend_on_it(start, mps):
    with mps.pretend(**OLD):
        assert start("--logging_steps", "1")[0] == 0
    fallen = [event["loss"] for event in events("run", "log")]
    assert start("--logging_steps", "1", "--overwrite_output_dir")[0] == 0
    assert [event["loss"] for event in events("run", "log")] == pytest.approx(fallen, abs=1e-6)


def _cases() -> dict:
    def draw(*shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=torch.Generator().manual_seed(0))

    numbers = draw(6, 4)
    return {
        "function of one tensor": (torch.mode, numbers.mul(4).round()),
        "several results": (lambda x: torch.linalg.eig(x[:4]), numbers),
        "in place": (lambda x: x.put_(torch.tensor([1, 2], device=x.device), x[0, :2] + 1), numbers),
        "into given results": (
            lambda x: torch.take(x, torch.tensor([3, 5], device=x.device), out=torch.empty(0, device=x.device)),
            numbers,
        ),
        "made from a structured operator": (torch.special.airy_ai, numbers),
        "always on the CPU": (
            lambda x: torch.nn.functional.embedding(
                torch.tensor([0, 2], device=x.device), x, max_norm=0.5, norm_type=2.0
            ),
            numbers.mul(10),
        ),
    }


@pytest.mark.parametrize("case", _cases())
def test_every_kind_of_operator_comes_back_right(case):
    function, numbers = _cases()[case]
    wanted = function(numbers.clone())
    told: list[str] = []
    with counted(table(torch.__version__), told.append) as found:
        got = function(numbers.to("mps"))
        function(numbers.to("mps"))
    parts = [got] if isinstance(got, torch.Tensor) else list(got)
    for part, expected in zip(parts, [wanted] if isinstance(wanted, torch.Tensor) else wanted, strict=True):
        assert part.device.type == "mps"
        torch.testing.assert_close(part.cpu(), expected)
    assert len(told) == len(found.operators) == 1
    assert next(iter(found.operators.values())).calls == 2


def test_gradients_pass_through():
    x = torch.rand(5, 4)
    targets = torch.tensor([0, 1, 2, 3, 0])
    gradients = {}
    with counted(table(torch.__version__), lambda name: None) as found:
        for device in ("cpu", "mps"):
            leaf = x.detach().clone().to(device).requires_grad_()
            torch.nn.functional.multi_margin_loss(leaf, targets.to(device)).backward()
            gradients[device] = leaf.grad.cpu()
    torch.testing.assert_close(gradients["mps"], gradients["cpu"])
    assert set(found.operators) == {"aten::multi_margin_loss", "aten::multi_margin_loss_backward"}


def test_afterwards_torch_is_as_before():
    with counted(table(torch.__version__), lambda name: None):
        torch.mode(torch.ones(3, device="mps"))
    with pytest.raises(NotImplementedError, match="aten::mode"):
        torch.mode(torch.ones(3, device="mps"))
