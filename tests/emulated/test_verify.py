"""`pippin verify` on the (emulated) Apple GPU: the built-in way agrees, planted faults do not."""

from __future__ import annotations

import json

import pytest

from pippin.machine.backends.mps import MpsBackend

pytestmark = pytest.mark.emulated_mps


@pytest.fixture
def verify(run_cli, word_file, tiny_model):
    def call(*flags: str) -> tuple[int, dict]:
        code, out, error = run_cli("verify", word_file, "--model_name_or_path", tiny_model, "--json", *flags)
        assert not error, error
        return code, json.loads(out)

    return call


@pytest.mark.parametrize("flags", [(), ("--bf16",), ("--optim", "sgd"), ("--label_smoothing_factor", "0.1")])
def test_the_device_agrees(verify, flags):
    code, verdict = verify(*flags)
    assert code == 0, verdict
    assert verdict["agrees"]
    assert verdict["device"] == "mps"
    assert len(verdict["findings"]) == 7


def test_a_wrong_kernel_is_found(verify, monkeypatch):
    """In place of a fault in Metal: the weights are laid out wrong on the way to the device."""
    place = MpsBackend.place

    def placed(self, model):
        model.bert.encoder.layer[0].output.dense.weight.data[0] += 0.1
        return place(self, model)

    monkeypatch.setattr(MpsBackend, "place", placed)
    code, verdict = verify()
    assert code == 1
    assert not verdict["agrees"]


def test_the_table_says_it(run_cli, word_file, tiny_model):
    code, out, _ = run_cli("verify", word_file, "--model_name_or_path", tiny_model)
    assert code == 0
    assert "mps in fp32 against the CPU: 16 rows" in out
    assert "gradients" in out
    assert "The results are the CPU's." in out


def test_on_the_cpu_there_is_nothing_to_compare(run_cli, word_file, tiny_model):
    code, _, error = run_cli("verify", word_file, "--model_name_or_path", tiny_model, "--use_cpu")
    assert code == 2
    assert "pippin doctor" in error
