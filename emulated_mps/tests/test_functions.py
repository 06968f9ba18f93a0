"""torch.mps, torch.backends.mps and torch.accelerator: what works, and what older releases did not have."""

from __future__ import annotations

import platform
from typing import Any

import pytest
import torch

pytestmark = pytest.mark.emulated_mps

#: By module, what a release did not have yet: (function, the last release without, the first with).
ABSENT = [
    ("mps", "Event", "2.0.0", "2.1.0"),
    ("mps", "profiler", "2.0.0", "2.1.0"),
    ("mps", "recommended_max_memory", "2.4.0", "2.5.0"),
    ("mps", "compile_shader", "2.6.0", "2.7.0"),
    ("mps", "load_metallib", "2.12.0", "2.13.0"),
    ("backends.mps", "is_macos_or_newer", "2.2.0", "2.3.0"),
    ("backends.mps", "get_name", "2.8.0", "2.9.0"),
    ("backends.mps", "get_core_count", "2.8.0", "2.9.0"),
    ("accelerator", "memory_allocated", "2.8.0", "2.9.0"),
]


@pytest.mark.parametrize(("module", "name", "before", "since"), ABSENT)
def test_functions_come_with_their_release(mps: Any, module: str, name: str, before: str, since: str) -> None:
    found = {"mps": torch.mps, "backends.mps": torch.backends.mps, "accelerator": torch.accelerator}[module]
    with mps.pretend(release=before):
        assert not hasattr(found, name)
    with mps.pretend(release=since):
        assert hasattr(found, name)
    assert hasattr(found, name)


def test_the_device_is_there() -> None:
    assert torch.backends.mps.is_built()
    assert torch.backends.mps.is_available()
    assert torch.mps.is_available()
    assert torch.mps.device_count() == torch.accelerator.device_count() == 1
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("mps")
    assert torch.accelerator.current_device_index() == 0
    assert not torch.cuda.is_available()
    torch.mps.synchronize()
    torch.accelerator.synchronize()
    assert torch.ones(1, device="mps").device == torch.device("mps:0")


def test_it_is_the_mac_that_was_asked_for(mps: Any) -> None:
    with mps.pretend(chip="Apple M2 Ultra", cores=60, macos="14.2", memory=64):
        assert torch.backends.mps.get_name() == "Apple M2 Ultra"
        assert torch.backends.mps.get_core_count() == 60
        assert torch.backends.mps.is_macos_or_newer(14, 2)
        assert not torch.backends.mps.is_macos_or_newer(14, 3)
        assert torch.backends.mps.is_macos13_or_newer()
        assert platform.mac_ver()[0] == "14.2"
        assert torch.mps.recommended_max_memory() == 48 * 2**30
    assert torch.backends.mps.get_name() == mps.settings().chip


def test_events_measure_and_wait() -> None:
    for event in (torch.mps.Event, lambda enable_timing: torch.Event("mps", enable_timing=enable_timing)):
        start, end = event(enable_timing=True), event(enable_timing=True)
        start.record()
        torch.ones(2, device="mps").sum()
        end.record()
        end.synchronize()
        assert end.query()
        assert start.elapsed_time(end) >= 0


def test_the_profiler_can_be_switched() -> None:
    with torch.mps.profiler.profile():
        torch.ones(2, device="mps").sum()


def test_memory_counters_of_the_accelerator(mps: Any) -> None:
    before = torch.accelerator.memory_allocated()
    tensor = torch.ones(2**18, device="mps")
    assert torch.accelerator.memory_allocated() - before == 2**20
    assert torch.accelerator.max_memory_allocated() >= torch.accelerator.memory_allocated()
    assert torch.accelerator.memory_reserved() == torch.mps.driver_allocated_memory()
    assert torch.accelerator.memory_stats()["allocated_bytes.all.current"] == mps.memory().allocated
    free, total = torch.accelerator.get_memory_info()
    assert total == torch.mps.recommended_max_memory() == free + torch.mps.driver_allocated_memory()
    del tensor
    peak = torch.accelerator.max_memory_allocated()
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_allocated() < peak
    with mps.pretend(release="2.12.0"), pytest.raises(RuntimeError, match="not a DeviceAllocator"):
        torch.accelerator.memory_allocated()
