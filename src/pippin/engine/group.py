"""The processes that share a job. Nothing else in the engine knows of ranks.

`Solo` is a job of one process, and costs nothing. `Distributed` talks through torch.distributed, which is never handed
a tensor of a device that it has no backend for: a collective can do nothing there without saying so (pytorch #173808).
What such a device sends goes through CPU memory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import wraps
from socket import gethostname
from typing import Any, Protocol, TypeVar

import numpy as np
import torch

from pippin.errors import PippinError
from pippin.machine.drivers import all_backends
from pippin.machine.launch import Place, complete_environment
from pippin.machine.traits import TRAITS

#: How long a process waits for the others: evaluations and saves of the first one are in between.
_PATIENCE = timedelta(minutes=30)

T = TypeVar("T")
#: Seconds.
_MOMENT = 0.2
#: Where a process that fails says so.
_GAVE_UP = "gave up"

#: What is being added up: waits until it is there, and returns it.
Pending = Callable[[], torch.Tensor]


class Group(Protocol):
    rank: int
    size: int

    @property
    def is_first(self) -> bool:
        """Whether this process prints, records and writes."""

    def agree(self, value: int) -> int:
        """The largest of all processes' values."""

    def share(self, value: Any) -> Any:
        """The first process's value, in all."""

    def gather(self, value: Any) -> list[Any]:
        """All processes' values by rank, in all."""

    def total(self, numbers: np.ndarray) -> np.ndarray:
        """The sum over all processes, of numbers that no device has to be waited for."""

    def share_weights(self, model: torch.nn.Module) -> None:
        """Give every process the first one's parameters and buffers."""

    @property
    def name(self) -> str:
        """This process, for people."""

    def give_up(self) -> None:
        """Leave word that this process has failed and said why, for those who find that it is gone."""

    def overlaps(self, device: torch.device) -> bool:
        """Whether sums of tensors on this device can be made while it computes."""

    def sum(self, tensor: torch.Tensor) -> Pending:
        """Begin to add up a tensor over all processes, in whatever order is quickest."""

    def ordered_sum(self, leaves: Sequence[torch.Tensor], counts: Sequence[int]) -> Pending:
        """Begin to add up all leaves of all processes as one binary tree; of each process so many, by rank."""


class Solo:
    """One process."""

    rank, size, is_first, name = 0, 1, True, "this process"

    def agree(self, value: int) -> int:
        return value

    def share(self, value: Any) -> Any:
        return value

    def gather(self, value: Any) -> list[Any]:
        return [value]

    def total(self, numbers: np.ndarray) -> np.ndarray:
        return numbers

    def share_weights(self, model: torch.nn.Module) -> None:
        pass

    def give_up(self) -> None:
        pass

    def overlaps(self, device: torch.device) -> bool:
        return False

    def sum(self, tensor: torch.Tensor) -> Pending:
        return lambda: tensor

    def ordered_sum(self, leaves: Sequence[torch.Tensor], counts: Sequence[int]) -> Pending:
        total = tree_sum(leaves)
        return lambda: total


#: The group of a job that is alone.
SOLO = Solo()


class FailedProcess(PippinError):
    """What went wrong in one process and in no other, in words that name it."""


class LostProcess(PippinError):
    """Another process of the job has ended, so this one cannot go on."""

    def __init__(self, words: str, is_explained: bool = False):
        super().__init__(words)
        self.is_explained = is_explained
        """Whether that process has said why."""


def _together(method: Callable[..., T]) -> Callable[..., T]:
    """What needs all processes: one that is gone is told within a moment, not after the timeout."""

    @wraps(method)
    def call(self: Distributed, *arguments: Any) -> T:
        with self.together():
            return method(self, *arguments)

    return call


class Distributed:
    """Several processes, or one that a launcher started."""

    def __init__(self, rank: int, size: int, of_objects: Any = None, store: Any = None) -> None:
        """``of_objects``: the process group for what lies on the CPU; None: torch's default one takes it. ``store``:
        what the processes met at, where it is ours."""
        self.rank, self.size, self._of_objects, self._store = rank, size, of_objects, store

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @contextmanager
    def together(self) -> Iterator[None]:
        """Around what needs all processes."""
        try:
            yield
        except (RuntimeError, EOFError) as error:
            if other := self._who_gave_up():
                raise LostProcess(f"{other} has failed, so all were stopped.", is_explained=True) from None
            reason = str(error).strip().splitlines() or [type(error).__name__]
            raise LostProcess(
                "another process of this job has ended, so this one stopped too. The cause is in what that process or "
                f"the launcher printed. ({reason[-1][:200]})"
            ) from None

    @_together
    def agree(self, value: int) -> int:
        largest = torch.tensor([value], dtype=torch.int64)
        torch.distributed.all_reduce(largest, torch.distributed.ReduceOp.MAX, group=self._of_objects)
        return int(largest)

    @_together
    def share(self, value: Any) -> Any:
        found = [value if self.is_first else None]
        cpu = torch.device("cpu")
        torch.distributed.broadcast_object_list(found, src=0, device=cpu, group=self._of_objects)
        return found[0]

    @_together
    def gather(self, value: Any) -> list[Any]:
        found: list[Any] = [None] * self.size
        torch.distributed.all_gather_object(found, value, group=self._of_objects)
        return found

    @_together
    def total(self, numbers: np.ndarray) -> np.ndarray:
        found = torch.from_numpy(np.array(numbers))
        torch.distributed.all_reduce(found, group=self._of_objects)
        return found.numpy()

    @_together
    def share_weights(self, model: torch.nn.Module) -> None:
        for tensor in [*model.parameters(), *model.buffers()]:
            sent = self._sendable(tensor.detach()).contiguous()
            torch.distributed.broadcast(sent, src=0, group=self._of(sent))
            if not self.is_first:
                tensor.detach().copy_(sent)

    @property
    def name(self) -> str:
        return f"process {self.rank} of {self.size} on {gethostname()}"

    def give_up(self) -> None:
        if self._store is not None:
            with suppress(RuntimeError):  # it may be gone with the process that held it
                self._store.set(_GAVE_UP, self.name)

    def _who_gave_up(self) -> str:
        try:
            has = self._store is not None and self._store.check([_GAVE_UP])
            return self._store.get(_GAVE_UP).decode() if has else ""
        except RuntimeError:
            return ""

    def overlaps(self, device: torch.device) -> bool:
        return _collectives(device) is not None

    @_together
    def sum(self, tensor: torch.Tensor) -> Pending:
        sent = self._sendable(tensor)
        work = torch.distributed.all_reduce(sent, group=self._of(sent), async_op=True)

        def result() -> torch.Tensor:
            with self.together():
                work.wait()
            return sent.to(tensor.device)

        return result

    @_together
    def ordered_sum(self, leaves: Sequence[torch.Tensor], counts: Sequence[int]) -> Pending:
        """Each process adds up a piece of everybody's leaves and hands it round: no more is sent than for a ring."""
        device, length, most = leaves[0].device, len(leaves[0]), max(counts)
        piece = -(-length // self.size)
        sent = self._sendable(leaves[0]).new_zeros(self.size, most, piece)
        for place, leaf in enumerate(leaves):
            padded = torch.nn.functional.pad(self._sendable(leaf), (0, piece * self.size - length))
            sent[:, place] = padded.view(self.size, piece)
        found = torch.empty_like(sent)
        work = torch.distributed.all_to_all_single(found, sent, group=self._of(sent), async_op=True)

        def result() -> torch.Tensor:
            with self.together():
                work.wait()
                total = tree_sum(found[rank, place] for rank, count in enumerate(counts) for place in range(count))
                whole = found.new_empty(self.size, piece)
                torch.distributed.all_gather(list(whole), total, group=self._of(total))
            return whole.view(-1)[:length].to(device)

        return result

    def _of(self, tensor: torch.Tensor) -> Any:
        return self._of_objects if tensor.is_cpu else None

    @staticmethod
    def _sendable(tensor: torch.Tensor) -> torch.Tensor:
        return tensor if _collectives(tensor.device) else tensor.cpu()


def _collectives(device: torch.device) -> str | None:
    return TRAITS[device.type].collectives


def tree_sum(leaves: Any) -> torch.Tensor:
    """The sum of tensors as a binary tree over their order, with no more of them held than the tree is high.

    >>> tree_sum(torch.tensor([float(number)]) for number in range(8))
    tensor([28.])
    """
    held: list[tuple[int, torch.Tensor]] = []
    for leaf in leaves:
        push(held, leaf)
    total = held.pop()[1]
    while held:
        total = held.pop()[1] + total
    return total


def push(held: list[tuple[int, torch.Tensor]], leaf: torch.Tensor) -> None:
    """Add a leaf to a tree that is held as its whole branches, each with its height."""
    height, total = 0, leaf
    while held and held[-1][0] == height:
        total = held.pop()[1] + total
        height += 1
    held.append((height, total))


@contextmanager
def joined(place: Place) -> Iterator[Group]:
    """The group of this process, for as long as the job lasts. A process group that is there already is used."""
    distributed = torch.distributed
    if distributed.is_available() and distributed.is_initialized():
        # It may be one for tensors on GPUs alone, as Ray Train makes it.
        for_cpu = "gloo" in str(distributed.get_backend_config(distributed.group.WORLD))
        of_objects = None if for_cpu else distributed.new_group(backend="gloo", timeout=_PATIENCE)
        yield Distributed(distributed.get_rank(), distributed.get_world_size(), of_objects)
        return
    if not place.launcher:
        yield SOLO
        return
    complete_environment(os.environ)
    try:
        store, _, _ = next(distributed.rendezvous("env://", place.rank, place.size, timeout=_PATIENCE))
        # A launcher that starts all again may hand out the same store, with the addresses of the processes before.
        own = distributed.PrefixStore(f"pippin/{place.restarts}", store)
        distributed.init_process_group(
            _backends(),
            timeout=_PATIENCE,
            store=own,
            rank=place.rank,
            world_size=place.size,
        )
    except (RuntimeError, ValueError) as error:
        raise PippinError(
            f"process {place.rank} of {place.size} cannot meet the others: {str(error).splitlines()[0]}. "
            "Check MASTER_ADDR and MASTER_PORT, and that all processes were started."
        ) from None
    try:
        yield Distributed(place.rank, place.size, store=own)
    finally:
        distributed.destroy_process_group()
        let_threads_finish()


def _backends() -> str:
    """As torch.distributed names them: for each device that is here and that it can be handed tensors of."""
    found = {
        backend.kind: name
        for backend in all_backends()
        if (name := backend.traits.collectives) and torch.distributed.is_backend_available(name) and backend.devices()
    }
    return ",".join(f"{kind}:{name}" for kind, name in found.items()) if len(found) > 1 else "".join(found.values())


def let_threads_finish() -> None:
    """A thread of gloo's that lets go of a tensor while Python shuts down aborts the process, which launchers take for
    a failure. It takes no longer than a moment to let go."""
    time.sleep(_MOMENT)
