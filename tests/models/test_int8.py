"""Predictions in 8 bits: near the exact ones, said to be inexact, and for the CPU only."""

from __future__ import annotations

import csv
import io
import warnings
from types import SimpleNamespace

import pytest
import torch

import pippin
from helpers import make_rows
from pippin.errors import PippinError
from pippin.machine.traits import TRAITS
from pippin.models.int8 import Int8Linear, to_int8

ENGINES = [name for name in torch.backends.quantized.supported_engines if name != "none"]


@pytest.fixture
def _same_engine_after():
    before = torch.backends.quantized.engine
    yield
    torch.backends.quantized.engine = before


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.usefixtures("_same_engine_after")
def test_a_layer_is_near_the_exact_one(engine):
    torch.backends.quantized.engine = engine
    torch.manual_seed(0)
    for bias in (True, False):
        exact, inputs = torch.nn.Linear(64, 48, bias=bias), torch.randn(5, 7, 64)
        exact.weight.data[3] = 0  # a row without a scale of its own
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = Int8Linear(exact)(inputs)
        wanted = exact(inputs)
        assert found.shape == wanted.shape
        error = (found - wanted).abs().max() / wanted.abs().max()
        assert 0 < error < 0.03


def test_all_linear_layers_but_the_head_are_replaced():
    inner = torch.nn.Sequential(torch.nn.Linear(16, 8))
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), inner, torch.nn.Linear(8, 3))
    to_int8(model, outputs=3)
    assert [type(layer) for layer in (model[0], model[1][0], model[2])] == [Int8Linear, Int8Linear, torch.nn.Linear]
    with pytest.raises(PippinError, match="no linear layers"):
        to_int8(torch.nn.Sequential(torch.nn.Linear(8, 3)), outputs=3)


def test_kernels_are_switched_on_where_nobody_did(monkeypatch):
    chosen = []
    monkeypatch.setattr(torch._C, "_get_qengine", lambda: 0)  # none, as torch for ARM starts with
    monkeypatch.setattr(torch._C, "_set_qengine", chosen.append)
    to_int8(torch.nn.Sequential(torch.nn.Linear(8, 8)), outputs=3)
    assert chosen == [torch._C._supported_qengines()[0]]
    monkeypatch.setattr(torch._C, "_supported_qengines", lambda: [0])
    with pytest.raises(PippinError, match="no 8-bit kernels"):
        to_int8(torch.nn.Sequential(torch.nn.Linear(8, 8)), outputs=3)


def test_labels_of_a_run(train, run_cli, word_file, write_rows):
    train(word_file, "--learning_rate", "5e-3", "--num_train_epochs", "15", "--use_cpu")
    texts = [row["text"] for row in make_rows(40, seed=5)]
    exact, rough = pippin.load("run", "cpu"), pippin.load("run", "cpu", int8=True)
    answers = exact.predict(texts), rough.predict(texts)
    same = [one.label == other.label for one, other in zip(*answers, strict=True)]
    assert sum(same) >= 38
    assert [one.score for one in answers[0]] != [other.score for other in answers[1]], "else nothing was done"
    code, out, err = run_cli("predict", "run", "--text", texts[0], "--device", "cpu", "--int8")
    assert code == 0, err
    assert "labels may differ from the exact model's" in err
    (row,) = csv.DictReader(io.StringIO(out))
    assert float(row["score"]) == pytest.approx(answers[1][0].score, abs=1e-2)
    assert "int8" not in run_cli("predict", "run", "--text", texts[0], "--device", "cpu")[2]
    assert "--int8: 'maybe' is not true or false" in run_cli("predict", "run", "--text", "x", "--int8=maybe")[2]


def test_refused_on_other_devices(train, run_cli, word_file, monkeypatch):
    train(word_file, "--use_cpu")
    monkeypatch.setattr(
        "pippin.commands.predictor.get_backend", lambda _: SimpleNamespace(kind="gpu", traits=TRAITS["cuda"])
    )
    code, out, err = run_cli("predict", "run", "--text", "x", "--int8")
    assert (code, out) == (2, "")
    assert "int8 is for the CPU, and the device is gpu" in err
    with pytest.raises(PippinError, match="int8 is for the CPU"):
        pippin.load("run", int8=True)
