"""Releases with faults that training on the Apple GPU meets. Facts from PyTorch's tracker, not seen by us."""

from __future__ import annotations

from collections.abc import Iterator

from pippin.machine.check import NOTE, OK, Check, dotted, release
from pippin.machine.faults import HAZARDS, NUISANCES, MacFacts, Remedy
from pippin.machine.machine import Machine
from pippin.machine.releases import macos_floor
from pippin.machine.traits import MPS


def known_problems(machine: Machine) -> Iterator[Check]:
    """The faults that this machine has, each with the way out of it."""
    if MPS not in machine.torch_builds:
        return
    here = f"torch {machine.torch} on macOS {machine.release}"
    mac = MacFacts(machine.torch, machine.release, machine.chip)
    met = [nuisance for nuisance in NUISANCES if nuisance.is_on(mac)]
    for nuisance in met:
        todo = _cure(machine, nuisance.fixed_in, nuisance.fixed_in_macos, nuisance.way_round)
        yield Check("known problem", NOTE, here, nuisance.wrong, todo)
    # But for those that nothing here can lead to.
    wrong = [
        hazard for hazard in HAZARDS if hazard.fixed_in and hazard.remedy is not Remedy.KEPT_OFF and hazard.is_on(mac)
    ]
    if wrong:
        names = ", ".join(hazard.name for hazard in wrong)
        why = "wrong results without an error; Pippin works around each or refuses the job, but other programs do not"
        todo = _cure(machine, max(hazard.fixed_in for hazard in wrong if hazard.fixed_in), None)
        yield Check("known faults", NOTE, f"{here}: {names}", why, todo)
    if not met and not wrong:
        yield Check("known problems", OK, f"none that a release newer than {here} would fix")


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
