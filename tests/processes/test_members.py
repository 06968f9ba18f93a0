"""Which processes can work together, and which are refused, in words that name both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pippin.commands.sharing import Lead, Member, check_alike, member_here
from pippin.engine.group import SOLO
from pippin.errors import PippinError
from pippin.machine.launch import Place
from pippin.machine.machine import Machine
from pippin.machine.traits import traits_of
from pippin.recipe import Recipe

MAC = Member("mac-a", "mps", "Apple M3 Max GPU", "", "0.1.0", "2.13.0", "NEON", 1, 24 << 30)
CARD = replace(MAC, host="box", device="cuda:0", chip="NVIDIA H200", unit="GPU-1", processor="AVX512")
CPU = replace(MAC, device="cpu", chip="", threads=2)


@pytest.mark.parametrize(
    ("first", "changes", "told"),
    [
        (MAC, {"device": "cpu"}, "process 1 on mac-b has cpu, but process 0 on mac-a has mps. All .* or add --use_cpu"),
        (MAC, {"chip": "Apple M1 GPU"}, "has an Apple M1 GPU, but process 0 on mac-a has an Apple M3 Max GPU"),
        (MAC, {"torch": "2.12.0"}, "has torch 2.12.0, but process 0 on mac-a has torch 2.13.0. Install the same"),
        (MAC, {"pippin": "0.0.9"}, "has pippin 0.0.9, but process 0"),
        (CPU, {"threads": 4}, "4 threads of NEON, .* set OMP_NUM_THREADS .* or add --reduce fast"),
        (CPU, {"processor": "DEFAULT"}, "add --reduce fast"),
        (
            CARD,
            {"host": "box"},
            "processes 0 and 1 on box would share one GPU, the NVIDIA H200. Start one process for each",
        ),
    ],
)
def test_unlike_processes_are_refused(first, changes, told):
    with pytest.raises(PippinError, match=told):
        check_alike([first, replace(first, **{"host": "mac-b", **changes})], is_exact=True)


def test_like_processes_work_together():
    check_alike([MAC, replace(MAC, host="mac-b")], is_exact=True)
    check_alike([CARD, replace(CARD, device="cuda:1", unit="GPU-2"), replace(CARD, host="other")], is_exact=False)
    check_alike([CPU, replace(CPU, threads=4)], is_exact=False)
    check_alike([MAC, replace(MAC, host="mac-b", processor="other", threads=9)], is_exact=True)


def test_the_plan_is_made_for_the_least_memory():
    members = [MAC, replace(MAC, host="mac-b", free_memory=5 << 30), replace(MAC, free_memory=None)]
    assert Lead(SOLO, members).tightest.host == "mac-b"
    assert Lead(SOLO).tightest is None


def machine(cards: int) -> Machine:
    devices = [traits_of("cuda", f"card {place}", unit=str(place)) for place in range(cards)]
    return Machine("Linux", "6", "x86_64", "3.12", "2.13.0", "5.0", 2, None, (*devices, traits_of("cpu", "")))


@pytest.mark.parametrize(("cards", "local", "device"), [(4, 0, "cuda"), (4, 3, "cuda:3"), (1, 3, "cuda")])
def test_each_process_takes_the_gpu_of_its_local_rank(cards, local, device, monkeypatch):
    """Where a launcher shows each process one GPU alone, that is its own."""
    monkeypatch.setattr("pippin.commands.sharing.get_backend", lambda name: Driver())
    found = member_here(Recipe(), machine(cards), Place(5, 8, local, 4, "torchrun"))
    assert (found.device, found.free_memory) == (device, 7)


class Driver:
    def memory_budget(self) -> int:
        return 7


def test_more_processes_than_gpus():
    with pytest.raises(PippinError, match="process 6 is number 3 on .*, which has 2 GPUs"):
        member_here(Recipe(), machine(2), Place(6, 8, 2, 4, "torchrun"))
