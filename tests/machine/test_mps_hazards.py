"""The Apple GPU's known faults: on which Macs, met by which jobs. Nothing here needs a Mac."""

from __future__ import annotations

import doctest

import pytest

from pippin.machine import faults
from pippin.machine.drivers import get_backend, mps
from pippin.machine.faults import HAZARDS, MacFacts, Remedy, hazards_of, most_rows
from pippin.machine.traits import TRAITS
from pippin.machine.work import Work

OLD_M1 = MacFacts("2.6.0", "14.5", "Apple M1 Pro")
NEW_M4 = MacFacts("2.15.0", "26.1", "Apple M4")
LONG = Work(trains=True, rows=512, length=128)
CAUSAL = Work(causal=True)
UNEVEN = Work(uneven_heads=True)


def names(mac: MacFacts, work: Work) -> list[str]:
    return [hazard.name for hazard in hazards_of(mac, work)]


def test_example():
    assert doctest.testmod(faults).failed == 0


def test_table_is_whole():
    assert len({hazard.name for hazard in HAZARDS}) == len(HAZARDS)
    for hazard in HAZARDS:
        assert hazard.source.startswith("#")
        assert hazard.wrong
        assert hazard.evidence
        assert hazard.fixed_in is None or hazard.since < hazard.fixed_in
        assert (hazard.most_rows is not None) == (hazard.remedy is Remedy.FEWER_ROWS)
        assert hazard.fixed_in is None or hazard.fixed_in > (2, 5), "fixed before the oldest torch that we take"


@pytest.mark.parametrize(
    ("torch", "chip", "met"),
    [
        ("2.5.1", "Apple M1", True),
        ("2.12.1", "Apple M2 Ultra", True),
        ("2.12.0", "", True),
        ("2.12.0", "Apple Paravirtual device", True),  # a virtual machine on an unknown chip
        ("2.12.0", "Apple M3", False),
        ("2.12.0", "Apple M10", False),
        ("2.13.0", "Apple M1 Pro", True),  # the fix came after its branch was cut
        ("2.13.1", "Apple M2 Max", True),
        ("2.14.0", "Apple M3", False),
    ],
)
def test_linear_gradients_by_release_and_chip(torch, chip, met):
    assert names(MacFacts(torch, "15.0", chip), LONG) == (["linear gradients"] if met else [])


@pytest.mark.parametrize("torch", ["2.14.0", "2.14.0a0+git1", "2.15.0"])
def test_the_fix_leaves_two_lengths(torch):
    mac = MacFacts(torch, "15.0", "Apple M1")
    assert names(mac, LONG) == ["linear gradients at the border"]
    assert most_rows(mac, LONG)[0] == 255
    # Of rows that are padded to 128, 64 and 32 tokens: no batch may come to 32767 or 32768.
    assert all(most_rows(mac, Work(trains=True, rows=1024, length=n))[0] * n < 32767 for n in (32, 64, 127, 128, 151))


@pytest.mark.parametrize(
    ("work", "most"),
    [
        (Work(trains=True, rows=255, length=128), None),  # 32640 tokens
        (Work(trains=True, rows=256, length=128), 255),  # 32768
        (Work(trains=True, rows=2, length=16384), 1),
        (Work(trains=True, rows=31, length=1057), 30),  # 32767
        (Work(trains=True, rows=30, length=1057), None),
        (Work(trains=True, rows=1, length=32766), None),
        (Work(trains=True, rows=1, length=32767), 0),
        (Work(trains=False, rows=256, length=128), None),
    ],
)
def test_rows_below_32767_tokens(work, most):
    limit = most_rows(OLD_M1, work)
    assert (limit and limit[0]) == most


def test_rows_within_all_other_limits():
    heads = Work(trains=True, rows=9, length=8192, heads=16)  # 2^30 attention weights a row
    assert most_rows(NEW_M4, heads)[0] == 4
    assert names(NEW_M4, heads) == ["large products"]
    assert names(NEW_M4, Work(trains=True, rows=4, length=8192, heads=16)) == []
    assert most_rows(NEW_M4, Work(trains=True, rows=65536, length=1))[0] == 65535
    mended = MacFacts("2.15.0", "26.1", "Apple M1")
    assert most_rows(mended, Work(trains=True, rows=1, length=32768))[0] == 0
    assert most_rows(NEW_M4, Work(trains=True, rows=1, length=32768)) is None


def test_the_tightest_limit_counts():
    both = Work(trains=True, rows=64, length=4096, heads=128)
    assert names(OLD_M1, both) == ["linear gradients", "large products"]
    assert most_rows(OLD_M1, both)[0] == 2


@pytest.mark.parametrize(
    ("torch", "work", "expected"),
    [
        ("2.14.0", Work(causal=True, precision="bf16"), ["causal attention", "tokens that see nothing"]),
        ("2.14.0", Work(causal=True, precision="fp16"), ["causal attention", "tokens that see nothing"]),
        ("2.15.0", Work(causal=True, precision="bf16"), ["causal attention", "tokens that see nothing"]),
        ("2.14.0", CAUSAL, ["tokens that see nothing"]),
        ("2.15.0", Work(has_window=True), ["tokens that see nothing"]),
        ("2.14.0", Work(precision="bf16"), []),
        ("2.7.0", Work(), []),
        ("2.8.0", Work(), ["few queries"]),
        ("2.10.0", Work(trains=True), ["few queries"]),
        ("2.11.0", Work(), []),
        ("2.11.0", UNEVEN, ["uneven heads"]),
        ("2.12.0", UNEVEN, []),
    ],
)
def test_attention(monkeypatch, torch, work, expected):
    mac = MacFacts(torch, "15.0", "Apple M3")
    assert names(mac, work) == expected
    monkeypatch.setattr(mps, "facts", lambda: mac)
    assert get_backend("mps").attention(work) == ("eager" if expected else None)
    assert get_backend("cpu").attention(work) is None


def test_checkpointing_only_where_it_is_used():
    assert names(NEW_M4, Work(trains=True, recomputes=True)) == ["recomputed dropout"]
    assert names(NEW_M4, Work(trains=True)) == []


@pytest.mark.parametrize(
    ("mac", "precision", "expected"),
    [
        (MacFacts("2.13.0", "26.0", "Apple M1 Max"), "fp32", ["lost bias"]),
        (MacFacts("2.5.1", "26.4", "Apple M1"), "fp32", ["lost bias"]),
        (MacFacts("2.13.0", "26.4", "Apple Paravirtual device"), "fp32", ["lost bias"]),
        (MacFacts("2.13.0", "15.7", "Apple M1"), "fp32", []),
        (MacFacts("2.13.0", "27.0", "Apple M1"), "fp32", []),
        (MacFacts("2.13.0", "26.4", "Apple M2"), "fp32", []),
        (MacFacts("2.14.0", "26.4", "Apple M1"), "fp32", []),
        (MacFacts("2.12.0", "26.4", "Apple M5 Pro"), "bf16", ["unsteady products"]),
        (MacFacts("2.12.0", "26.4", "Apple M5 Pro"), "fp32", []),
        (MacFacts("2.12.0", "26.4", "Apple M4"), "fp16", []),
        (MacFacts("2.13.0", "26.4", "Apple M5"), "fp16", []),
    ],
)
def test_linear_layers_by_release_macos_and_chip(mac, precision, expected):
    assert names(mac, Work(precision=precision)) == expected


def test_old_macos_has_more():
    scattered = next(hazard for hazard in HAZARDS if hazard.name == "scattered noise")
    assert scattered.is_on(MacFacts("2.9.0", "14.7", "Apple M1"))
    assert not scattered.is_on(MacFacts("2.9.0", "15.0", "Apple M1"))
    assert not scattered.is_on(MacFacts("2.10.0", "14.7", "Apple M1"))


def test_the_backend_says_what_it_guards_against(monkeypatch):
    monkeypatch.setattr(mps, "facts", lambda: OLD_M1)
    backend = get_backend("mps")
    rows, why = backend.most_rows(LONG)
    assert rows == 255
    assert "32767 tokens" in why
    for other in ("cpu", "cuda"):
        assert hazards_of(TRAITS[other].mac, LONG) == []
        assert get_backend(other).most_rows(LONG) is None
        assert get_backend(other).checkpoint_contexts() is None
