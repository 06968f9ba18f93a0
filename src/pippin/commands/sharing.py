"""Several processes at one job: the first leads it and tells the others what to do; they compute and write nothing."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from pippin._version import __version__
from pippin.data.encoding import EncodedSplits
from pippin.data.examples import Examples
from pippin.engine.group import SOLO, Group
from pippin.engine.seeding import conditions
from pippin.engine.session import Session, lacking_operators
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.launch import Place
from pippin.machine.machine import Machine
from pippin.models.skeleton import make_random
from pippin.plan.device import choose_device
from pippin.plan.plan import Choice, Plan
from pippin.recipe import Recipe
from pippin.tasks.base import Task


@dataclass(frozen=True)
class Member:
    """A process of a job: where it is, and what all of them must have in common."""

    host: str
    device: str
    """The name by which torch knows it, such as cuda:1."""
    chip: str
    """Of the device."""
    unit: str
    """What tells its GPU from others; empty where nobody knows."""
    pippin: str
    torch: str
    processor: str
    """The instructions that torch uses on the CPU."""
    threads: int
    free_memory: int | None
    """Bytes that the device has for a job."""

    @property
    def kind(self) -> str:
        return self.device.partition(":")[0]


def member_here(recipe: Recipe, machine: Machine, place: Place) -> Member:
    """This process; of several GPUs it takes the one of its local rank."""
    device = choose_device(recipe, machine).value
    cards = [each for each in machine.devices if each.kind == device]
    if place.local_rank and len(cards) > 1:  # where each process sees only its own, that is the first
        if place.local_rank >= len(cards):
            raise PippinError(
                f"process {place.rank} is number {place.local_rank + 1} on {socket.gethostname()}, which has "
                f"{len(cards)} GPUs. Start one process for each GPU."
            )
        device = f"{device}:{place.local_rank}"
    traits = machine.device(device)
    return Member(
        socket.gethostname(),
        device,
        traits.name,
        traits.unit,
        __version__,
        torch.__version__,
        torch.backends.cpu.get_cpu_capability(),
        torch.get_num_threads(),
        get_backend(device).memory_budget(),
    )


def check_alike(members: Sequence[Member], is_exact: bool) -> None:
    """Refuse a group whose processes would not do the same work in the same way."""
    first = members[0]
    for rank, other in enumerate(members):
        both = f"process {rank} on {other.host} has {{}}, but process 0 on {first.host} has {{}}. "
        alike = "All processes of a job need the same kind of device: start them on computers that are alike"
        if other.kind != first.kind:
            raise PippinError(f"{both.format(other.kind, first.kind)}{alike}, or add --use_cpu.")
        if other.chip != first.chip and first.kind != "cpu":
            raise PippinError(f"{both.format(f'an {other.chip}', f'an {first.chip}')}{alike}.")
        for package in ("pippin", "torch"):
            theirs, ours = (f"{package} {getattr(each, package)}" for each in (other, first))
            if theirs != ours:
                raise PippinError(f"{both.format(theirs, ours)}Install the same version on both.")
        if is_exact and first.kind == "cpu" and (other.processor, other.threads) != (first.processor, first.threads):
            theirs, ours = (f"{each.threads} threads of {each.processor}" for each in (other, first))
            raise PippinError(
                f"{both.format(theirs, ours)}Their sums would differ in the last digits: set OMP_NUM_THREADS to the "
                "same number for all, or add --reduce fast."
            )
        twin = next((place for place, each in enumerate(members[:rank]) if _shares_gpu(each, other)), None)
        if twin is not None:
            raise PippinError(
                f"processes {twin} and {rank} on {other.host} would share one GPU, the {other.chip}. Start one process "
                "for each GPU."
            )


def _shares_gpu(one: Member, other: Member) -> bool:
    return bool(one.unit) and (one.host, one.unit) == (other.host, other.unit)


@dataclass(frozen=True)
class Orders:
    """All that a process needs to take part: no file and no network is asked for any of it."""

    plan: Plan
    task: Task
    rows: EncodedSplits
    examples: Examples | None
    """What is trained on, without its texts."""
    config: Any
    """The model's; its weights follow."""
    adapters: dict[str, Any] | None
    """Settings of those that the model comes with."""
    trains: bool
    evaluates: bool
    predicts: bool
    arithmetic: dict[str, str] | None = None
    """Of the run that is resumed."""
    state: dict[str, Any] | None = None
    """Of the checkpoint that the run resumes from."""
    new_rates: bool = False

    def make_model(self, attention: str | None) -> Any:
        kept = self.plan.execution.kept.value
        return make_random(self.config, attention, self.task.auto_model, precision=kept, adapters=self.adapters)


class Lead:
    """The first process's side: the others wait for orders until they get some, or are sent home."""

    def __init__(self, group: Group = SOLO, members: Sequence[Member] = ()) -> None:
        self.group, self.waits = group, True
        known = [each for each in members if each.free_memory is not None]
        self.tightest = min(known, key=lambda each: each.free_memory or 0, default=None)
        """The process with the least memory: what fits there fits everywhere."""

    def give(self, orders: Orders | None) -> None:
        if self.waits:
            self.waits = False
            self.group.share(orders)


def follow(group: Group, device: str) -> None:
    """Do what the first process says, on this device, until there is nothing left to do."""
    orders: Orders | None = group.share(None)
    if orders is None:
        return
    chosen = orders.plan.execution.device
    plan, backend = orders.plan.changed(device=Choice(device, chosen.reason)), get_backend(device)
    backend.use()
    with conditions(plan, backend, orders.arithmetic), lacking_operators(plan, backend, lambda operator: None):
        session = Session(
            plan,
            orders.task,
            orders.rows,
            orders.make_model,
            is_trained=not orders.trains,
            group=group,
        )
        if orders.trains:
            assert orders.examples is not None
            session.train(orders.examples, _quietly, _Nowhere(), orders.state, orders.new_rates)
        if orders.rows.train is not None:
            session.settle()
        if orders.evaluates:
            session.evaluate_all()
        for encoded in orders.rows.test.values() if orders.predicts else ():
            if encoded.labels is None:
                session.predict(encoded)
            else:
                session.evaluate(encoded)


def _quietly(name: str, **figures: Any) -> None:
    """What happens is told by the first process."""


class _Nowhere:
    """Checkpoints are written by the first process."""

    seconds = 0.0

    def is_due(self) -> bool:
        return False

    def save(self, *arguments: Any) -> None:
        pass

    def look(self) -> None:
        pass

    def wait(self) -> None:
        pass

    def restore(self, step: int) -> str | None:
        return None

    def weights_of(self, step: int) -> tuple[str | None, dict[str, Any]]:
        return None, {}


@contextmanager
def threads_for(recipe: Recipe, place: Place) -> Iterator[None]:
    """One thread for each of several processes, unless OMP_NUM_THREADS says otherwise: their number decides the last
    digits of a sum, and must not follow from the number of processes."""
    own = torch.get_num_threads()
    if (place.launcher or recipe.reduce == "exact") and recipe.reduce != "fast" and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(own)
