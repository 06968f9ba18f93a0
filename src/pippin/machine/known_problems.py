"""Releases with faults that training on the Apple GPU meets. Facts from PyTorch's tracker, not seen by us."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pippin.machine.check import NOTE, OK, Check, dotted, release
from pippin.machine.drivers.mps import MpsBackend
from pippin.machine.faults import HAZARDS, Hazard, MacFacts, Remedy
from pippin.machine.machine import Machine
from pippin.machine.releases import macos_floor


@dataclass(frozen=True)
class KnownProblem:
    """A fault that is slow, large or loud. Those that give wrong results unseen stand in machine/faults.py."""

    harm: str
    torch_before: tuple[int, ...] | None = None
    """The first torch release without it; None where the release does not matter."""
    macos_before: tuple[int, ...] | None = None
    """The first macOS without it."""
    way_round: str = ""
    """What helps where nothing can be updated."""

    def is_met_on(self, machine: Machine) -> bool:
        return (self.torch_before is None or release(machine.torch) < self.torch_before) and (
            self.macos_before is None or release(machine.release) < self.macos_before
        )


#: Faults of releases that Pippin does not take are left out.
KNOWN_PROBLEMS = (
    KnownProblem(  # pytorch#181485 of April 2026: in 2.13.0's wheel emptying the cache drops graphs, in 2.12.0's not
        "every new batch shape takes memory that is never given back",
        torch_before=(2, 13),
        way_round="leave padding to Pippin, which keeps to few shapes",
    ),
    KnownProblem(  # isneginf, which masked attention calls, got its kernel in 2.6, by the wheels' lists of operators
        "attention over padded rows may run partly on the CPU, which is slow",
        torch_before=(2, 6),
    ),
    KnownProblem(  # pytorch#77764; the macOS is named in torch's own message
        "sums over 64-bit integers are missing, and some models count positions with them",
        macos_before=(13, 3),
        way_round="train those models with --use_cpu",
    ),
    KnownProblem(  # pytorch#128393; torch itself asks for macOS 15 before it reads them in place
        "tensors that are not contiguous are copied first, which is slower than in macOS 15 and went wrong at times",
        macos_before=(15, 0),
    ),
)


def known_problems(machine: Machine) -> Iterator[Check]:
    """The faults that this machine has, each with the way out of it."""
    if MpsBackend.kind not in machine.torch_builds:
        return
    here = f"torch {machine.torch} on macOS {machine.release}"
    met = [problem for problem in KNOWN_PROBLEMS if problem.is_met_on(machine)]
    for problem in met:
        todo = _cure(machine, problem.torch_before, problem.macos_before, problem.way_round)
        yield Check("known problem", NOTE, here, problem.harm, todo)
    wrong = _mended_hazards(machine)
    if wrong:
        names = ", ".join(hazard.name for hazard in wrong)
        why = "their results are wrong without an error; Pippin works round each, or refuses the job, but others do not"
        todo = _cure(machine, max(hazard.fixed_in for hazard in wrong if hazard.fixed_in), None)
        yield Check("known faults", NOTE, f"{here}: {names}", why, todo)
    if not met and not wrong:
        yield Check("known problems", OK, f"none that a newer release than {here} would mend")


def _mended_hazards(machine: Machine) -> list[Hazard]:
    """Faults with wrong results that a newer torch does not have, but for those that nothing here can lead to."""
    mac = MacFacts(machine.torch, machine.release, machine.chip)
    return [
        hazard for hazard in HAZARDS if hazard.fixed_in and hazard.remedy is not Remedy.KEPT_OFF and hazard.is_on(mac)
    ]


def _cure(machine: Machine, torch: tuple[int, ...] | None, macos: tuple[int, ...] | None, way_round: str = "") -> str:
    """What to type for a torch and a macOS; a torch that needs a newer macOS is not offered without it."""
    steps = []
    if torch is not None:
        floor = macos_floor(dotted(torch))
        if release(machine.release) < floor:
            macos = max(macos or floor, floor)
        steps.append(f'pip install "torch>={dotted(torch)}"')
    if macos is not None:
        steps.insert(0, f"Update macOS to {dotted(macos).removesuffix('.0')} in System Settings")
    return ", then: ".join(steps) + (f"; or {way_round}" if way_round else "")
