"""Memory: what is counted, where it ends, and what gives it back."""

from __future__ import annotations

import gc
import json
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.emulated_mps

MIB = 2**20
OUT_OF_MEMORY = re.compile(
    r"MPS backend out of memory \(MPS allocated: (?P<allocated>.+?), other allocations: (?P<other>.+?), "
    r"max allowed: (?P<limit>.+?)\)\. Tried to allocate (?P<wanted>.+?) on (?P<pool>shared|private) pool\. "
    r"Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0\.0 to disable upper limit for memory allocations "
    r"\(may cause system failure\)\."
)


def mebibytes(count: int) -> torch.Tensor:
    return torch.empty(count * MIB, dtype=torch.uint8, device="mps")


def in_bytes(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"b": 1, "K": 2**10, "M": 2**20, "G": 2**30}[unit[0]]


def test_tensors_are_counted(mps: Any) -> None:
    before = mps.memory()
    first, second = mebibytes(3), mebibytes(2)
    assert mps.memory().allocated - before.allocated == 5 * MIB
    assert torch.mps.current_allocated_memory() == mps.memory().allocated
    del first
    after = mps.memory()
    assert after.allocated - before.allocated == 2 * MIB
    assert after.peak - before.allocated == 5 * MIB
    # What was given back is kept for the next.
    assert after.driver == torch.mps.driver_allocated_memory() == after.allocated + 3 * MIB
    mps.reset_peak()
    assert mps.memory().peak == after.allocated
    assert second.numel() == 2 * MIB


@pytest.mark.parametrize(("memory", "share"), [(8, 2 / 3), (16, 2 / 3), (32, 2 / 3), (64, 3 / 4), (128, 3 / 4)])
def test_recommended_memory(mps: Any, memory: float, share: float) -> None:
    with mps.pretend(memory=memory):
        expected = int(memory * 2**30 * share)
        assert torch.mps.recommended_max_memory() == mps.memory().recommended == expected
        assert mps.memory().limit == int(1.7 * expected)


@pytest.mark.parametrize(("release", "unit"), [("2.5.0", "MB"), ("2.13.0", "MiB")])
def test_the_error_says_every_figure(mps: Any, release: str, unit: str) -> None:
    kept = mebibytes(4)
    with mps.pretend(release=release), mps.memory_limit(8 * MIB):
        torch.ones(3, device="mps").exp()  # a graph: counted as of others
        before = mps.memory()
        with pytest.raises(RuntimeError) as raised:
            mebibytes(16)
        figures = OUT_OF_MEMORY.fullmatch(str(raised.value))
        assert type(raised.value) is RuntimeError
        assert figures["allocated"].endswith(unit)
        assert in_bytes(figures["allocated"]) == pytest.approx(before.allocated, rel=0.01)
        assert in_bytes(figures["other"]) == pytest.approx(before.driver - before.allocated, rel=0.1, abs=1024)
        assert in_bytes(figures["limit"]) == pytest.approx(before.limit, rel=0.01)
        assert in_bytes(figures["wanted"]) == 16 * MIB
        assert figures["pool"] == "private"
        assert mps.memory().allocated == before.allocated
        with pytest.raises(RuntimeError, match="on shared pool"):
            [torch.empty(2**18, dtype=torch.uint8, device="mps") for _ in range(100)]
    del kept


def test_training_goes_on_with_a_smaller_batch(mps: Any) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 2)).to("mps")
    optimizer = torch.optim.AdamW(model.parameters())

    def step(rows: int) -> None:
        optimizer.zero_grad()
        model(torch.ones(rows, 64, device="mps")).square().sum().backward()
        optimizer.step()

    step(8)
    held = mps.memory().allocated
    with mps.memory_limit(4 * MIB):
        with pytest.raises(RuntimeError, match="out of memory"):
            step(4096)
        gc.collect()
        optimizer.zero_grad()
        assert mps.memory().allocated <= held
        step(8)
    assert mps.memory().allocated == held


def test_every_new_shape_costs_a_graph(mps: Any) -> None:
    def work(rows: int) -> int:
        torch.ones(rows, 4, device="mps").exp()
        return mps.memory().graphs

    first = work(3)
    assert work(3) == first
    second = work(5)
    assert second > first
    driver = mps.memory().driver
    for rows in (3, 5, 3, 5):
        work(rows)
    assert mps.memory().driver == driver
    torch.ones(3, 4, device="mps").half().exp()
    assert mps.memory().graphs > second  # another dtype, too


@pytest.mark.parametrize(("release", "reuses"), [("2.13.0", False), ("2.14.0", True)])
def test_kept_buffers_serve_other_sizes_from_2_14_on(mps: Any, release: str, reuses: bool) -> None:
    with mps.pretend(release=release):
        mps.forget_graphs()
        mebibytes(8)
        before = mps.memory().driver
        mebibytes(8)
        assert mps.memory().driver == before
        mebibytes(5)
        assert (mps.memory().driver == before) is reuses


def test_counts_stay_right_between_releases(mps: Any) -> None:
    with mps.pretend(release="2.14.0"):
        mebibytes(8)
        mebibytes(5)
    with mps.pretend(release="2.13.0"):
        held = mebibytes(8), mebibytes(5)
        assert mps.memory().driver >= mps.memory().allocated
        del held


def test_kept_buffers_are_dropped_before_it_is_out_of_memory(mps: Any) -> None:
    with mps.pretend(release="2.13.0"), mps.memory_limit(8 * MIB):
        mebibytes(6)
        assert mebibytes(7).numel() == 7 * MIB


@pytest.mark.parametrize(("release", "with_graphs"), [("2.12.0", False), ("2.13.0", True)])
def test_empty_cache_clears_graphs_from_2_13_on(mps: Any, release: str, with_graphs: bool) -> None:
    with mps.pretend(release=release):
        mebibytes(4).sum()
        before = mps.memory()
        assert before.graphs > 0
        torch.mps.empty_cache()
        after = mps.memory()
        assert after.graphs == (0 if with_graphs else before.graphs)
        assert after.driver <= before.driver - 4 * MIB
        assert (after.driver == after.allocated) is with_graphs


def test_the_share_of_the_process_can_be_set(mps: Any) -> None:
    with mps.pretend():
        torch.mps.set_per_process_memory_fraction(0.5)
        assert mps.memory().limit == mps.memory().recommended // 2
        with mps.pretend(memory=0.01):
            torch.mps.set_per_process_memory_fraction(0.1)
            with pytest.raises(RuntimeError, match="max allowed: 699"):
                mebibytes(2)
        with pytest.raises(ValueError, match="Allowed range: 0~2"):
            torch.mps.set_per_process_memory_fraction(2.5)


def test_one_buffer_is_at_most_half_of_the_memory(mps: Any) -> None:
    with mps.pretend(memory=0.02), pytest.raises(RuntimeError, match=r"^Invalid buffer size: 11\.00 MiB$"):
        mebibytes(11)


WATERMARKS = """
import json, torch, emulated_mps
from emulated_mps import device
found = {"limit": emulated_mps.memory().limit / emulated_mps.memory().recommended}
with emulated_mps.pretend(memory=0.02):  # 13.6 MiB for the GPU
    try:
        held = [torch.empty(2**20, dtype=torch.uint8, device="mps") for _ in range(40)]
        found["held"] = len(held)
    except RuntimeError as error:
        found["error"] = str(error)
bad = {}
for high, low in (("2.5", ""), ("1.0", "1.2"), ("", "-1")):
    device.os.environ[device.HIGH], device.os.environ[device.LOW] = high, low
    device._native.emulated_mps_refuse_memory(device._watermarks()[1].encode())
    for start in (lambda: torch.ones(1, device="mps"), torch.mps.recommended_max_memory):
        try:
            start()
        except RuntimeError as error:
            bad[high + "/" + low] = str(error)
print(json.dumps(found | {"bad": bad}))
"""


def test_the_watermarks_of_the_environment(python: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    unlimited = json.loads(python(WATERMARKS, EMULATED_MPS="1", PYTORCH_MPS_HIGH_WATERMARK_RATIO="0.0").stdout)
    assert unlimited["held"] == 40
    half = python(
        WATERMARKS, EMULATED_MPS="1", PYTORCH_MPS_HIGH_WATERMARK_RATIO="0.5", PYTORCH_MPS_LOW_WATERMARK_RATIO="0.4"
    )
    found = json.loads(half.stdout)
    assert found["limit"] == pytest.approx(0.5)
    assert "max allowed: 6.83 MiB" in found["error"]
    assert found["bad"] == {
        "2.5/": "invalid high watermark ratio 2.5",
        "1.0/1.2": "invalid low watermark ratio 1.2",
        "/-1": "invalid low watermark ratio -1",
    }
