"""What a session and a predictor ask of the device before they load a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from torch.nn import functional

from helpers import with_traits
from pippin.commands import predictor
from pippin.machine import faults
from pippin.machine.drivers.cpu import CpuBackend
from pippin.machine.faults import Hazard, MacFacts, Remedy


def test_attention_is_what_the_device_asks_for(train, word_file, monkeypatch):
    asked = []
    blind = Hazard(
        "blind",
        "it sees nothing",
        "#1",
        Remedy.PLAIN_ATTENTION,
        "seen",
        met_by=lambda work: asked.append(work.precision) or True,
    )
    monkeypatch.setattr(faults, "HAZARDS", (blind,))
    with_traits(monkeypatch, CpuBackend, packed_attention=None, mac=MacFacts("2.12.0", "15.0", "Apple M1"))
    monkeypatch.setattr(functional, "scaled_dot_product_attention", lambda *_, **__: pytest.fail("a fused kernel"))
    train(word_file, "--bf16", "--use_cpu")
    predictor.Predictor.load("run", "cpu").predict(["a cat"])
    assert set(asked) == {"bf16", "fp32"}
    assert "attn" not in Path("run/config.json").read_text(), "the next device may do better"


def test_guards_and_smaller_micro_batches_are_said_and_kept(train, word_file, monkeypatch):
    whole = train(word_file, "--per_device_train_batch_size", 16, "--use_cpu", folder="whole")[1]
    fingers = Hazard(
        "fingers", "it has only seven fingers", "#7", Remedy.FEWER_ROWS, "counted", most_rows=lambda work: 7
    )
    monkeypatch.setattr(faults, "HAZARDS", (fingers,))
    with_traits(monkeypatch, CpuBackend, mac=MacFacts("2.12.0", "15.0", "Apple M1"))
    out, results = train(word_file, "--per_device_train_batch_size", 16, "--use_cpu")
    made = {
        name: each
        for group in json.loads(Path("run/run.json").read_text())["plan"].values()
        for name, each in group.items()
    }
    assert made["micro_batch"]["value"] == 6
    assert made["guards"]["value"] == ["fingers"]
    for words in ("not 16, since it has only seven fingers", "guards", "fingers (#7)"):
        assert words in out
    assert results["epoch"] == whole["epoch"]
