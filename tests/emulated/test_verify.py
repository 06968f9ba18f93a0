"""`pippin verify` on the (emulated) Apple GPU: the built-in way agrees, planted faults do not."""

from __future__ import annotations

import json

import pytest

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
    assert [finding["name"] for finding in verdict["findings"]] == [
        "logits in evaluation",
        "logits in training",
        "evaluation against training",
        "loss",
        "gradients",
        "weights after a step",
        "a row beside a longer one",
        "a second time",
    ]


def test_a_wrong_kernel_is_found_and_located(verify, mps):
    with mps.wrong("aten::linear", lambda result: result * 1.01):
        code, verdict = verify()
    assert code == 1
    assert not verdict["agrees"]
    assert {finding["module"] for finding in verdict["findings"] if finding["name"].startswith("logits")} == {
        "bert.encoder.layer.0.attention.self.query"
    }


def test_the_table_names_the_module(run_cli, word_file, tiny_model, mps):
    with mps.wrong("aten::native_layer_norm_backward", lambda found: (found[0], found[1] * 2, found[2])):
        code, out, _ = run_cli("verify", word_file, "--model_name_or_path", tiny_model)
    assert code == 1
    assert "starts in bert.encoder.layer.1.output.LayerNorm" in out
    assert "do not train on it" in out


def test_the_table_says_it(run_cli, word_file, tiny_model):
    code, out, _ = run_cli("verify", word_file, "--model_name_or_path", tiny_model)
    assert code == 0
    assert "mps in fp32 against the CPU: 16 rows" in out
    assert "gradients" in out
    assert "The results match the CPU's." in out


def test_on_the_cpu_there_is_nothing_to_compare(run_cli, word_file, tiny_model):
    code, _, error = run_cli("verify", word_file, "--model_name_or_path", tiny_model, "--use_cpu")
    assert code == 2
    assert "pippin doctor" in error
