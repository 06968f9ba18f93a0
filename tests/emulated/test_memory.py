"""Memory on the (emulated) Apple GPU: bounded under varying lengths, relieved in time, and plain words at its end."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch

from helpers import FILLER, events

pytestmark = pytest.mark.emulated_mps


@pytest.fixture
def uneven_file(write_rows) -> Path:
    """Rows of two to sixty words."""
    draw = random.Random(0)
    return write_rows(
        "uneven.csv",
        [{"text": " ".join(draw.choices(FILLER, k=draw.randint(2, 60))), "label": "ab"[n % 2]} for n in range(200)],
    )


def test_memory_stays_bounded_where_dynamic_padding_grows(train, uneven_file, mps):
    flags = ["--per_device_train_batch_size", 4, "--num_train_epochs", 4, "--logging_steps", 10]
    train(uneven_file, *flags, "--do_train")
    bounded = [event["memory"] for event in events("run", "log")]
    graphs = mps.memory().graphs
    assert max(bounded[-5:]) == bounded[len(bounded) // 2], "after the first epochs no shape is new"

    mps.forget_graphs()
    model = _model("run")
    draw, held = random.Random(1), []
    for _ in range(100):  # as a data loader with dynamic padding has it
        length = max(draw.randint(4, 62) for _ in range(4))
        tokens = torch.randint(5, 60, (4, length))
        model(input_ids=tokens.to("mps"), attention_mask=torch.ones_like(tokens).to("mps")).logits.sum().backward()
        held.append(mps.memory().driver)
    assert held[-1] > 1.5 * held[len(held) // 5], "it grows on"
    assert mps.memory().graphs > 1.4 * graphs, "although this has no optimiser and no evaluation"


def _model(folder: str) -> torch.nn.Module:
    from transformers import AutoModelForSequenceClassification

    return AutoModelForSequenceClassification.from_pretrained(folder).to("mps")


def test_out_of_memory_is_one_plain_message(run_cli, uneven_file, tiny_model, mps):
    with mps.memory_limit(700 * 2**10):
        code, out, error = run_cli(
            "train", uneven_file, "--model_name_or_path", tiny_model, "--output_dir", "run", "--max_steps", 3, "--force"
        )
    assert code == 2
    assert "the device mps ran out of memory" in error
    assert "not even one row fits" in error
    assert "Traceback" not in out + error


def test_cache_is_emptied_before_the_mac_swaps(train, uneven_file, mps, monkeypatch):
    train(uneven_file, "--per_device_train_batch_size", 4, "--do_train", steps=30, folder="first")
    needed = json.loads(Path("first/report.json").read_text())["peak_memory"]
    mps.forget_graphs()
    # A Mac whose GPU is recommended a little less than that.
    with mps.pretend(memory=needed * 0.7 / 2**30 * 3 / 2):
        out, _ = train(uneven_file, "--per_device_train_batch_size", 4, "--do_train", "--force", steps=30)
    relieved = events("run", "relieved")
    assert relieved
    assert all(event["after"] < event["before"] for event in relieved)
    assert len(relieved) < 10, "not at every step"
    assert "unused memory was released" in out


def test_peak_is_above_what_is_held_at_the_end(train, uneven_file, mps):
    train(uneven_file, steps=5)
    report = json.loads(Path("run/report.json").read_text())
    assert mps.memory().driver_peak >= report["peak_memory"] > 0.9 * mps.memory().driver
