"""State to safetensors and JSON and back, bit for bit."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
import torch

from pippin.engine.snapshot import random_state, restore_random_state
from pippin.machine.drivers.cpu import CpuBackend
from pippin.runs.checkpoints import packing


def test_round_trip(tmp_path):
    state = {
        "step": 7,
        "loss": 0.1 + 0.2,
        "nothing": None,
        "on": True,
        "list": [1, "two", [3.5]],
        "by number": {0: {"moment": torch.randn(3, 2)}, 5: {"step": torch.tensor(3.0)}},
        "half": torch.randn(4).bfloat16(),
        "bytes": torch.arange(5, dtype=torch.uint8),
        "infinite": float("inf"),
        "turned": torch.arange(6).reshape(2, 3).t(),
    }
    packing.write(tmp_path, state)
    assert {path.name for path in tmp_path.iterdir()} == {"state.json", "optimizer.safetensors"}
    json.loads((tmp_path / "state.json").read_text())
    found = packing.read(tmp_path)
    assert found.keys() == state.keys()
    assert (found["loss"], found["list"], found["infinite"]) == (0.1 + 0.2, [1, "two", [3.5]], float("inf"))
    assert list(found["by number"]) == [0, 5]
    for ours, theirs in (
        (found["by number"][0]["moment"], state["by number"][0]["moment"]),
        (found["half"], state["half"]),
        (found["bytes"], state["bytes"]),
        (found["turned"], state["turned"]),
    ):
        assert ours.dtype == theirs.dtype
        assert torch.equal(ours, theirs)


def test_what_is_neither_plain_nor_a_tensor_is_refused(tmp_path):
    with pytest.raises(TypeError, match="/a/0: a checkpoint cannot hold object"):
        packing.write(tmp_path, {"a": [object()]})


def test_copies_do_not_change_with_the_original_and_keep_ties():
    weight = torch.ones(3)
    state = {"embedding": weight, "head": weight, "other": torch.ones(3)}
    copy = packing.on_cpu(state, [])
    weight.add_(1)
    assert copy["embedding"].tolist() == [1, 1, 1]
    assert copy["embedding"] is copy["head"]
    assert copy["other"] is not copy["head"]


def test_random_states_come_back(tmp_path):
    backend = CpuBackend()
    random.seed(3)
    np.random.seed(3)
    torch.manual_seed(3)
    random.gauss(0, 1)
    packing.write(tmp_path, {"random": random_state(backend)})

    def draw() -> tuple:
        return random.random(), random.gauss(0, 1), np.random.rand(), np.random.normal(), torch.rand(2).tolist()

    expected = draw()
    draw()
    restore_random_state(backend, packing.read(tmp_path)["random"])
    assert draw() == expected
