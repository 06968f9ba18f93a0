"""Which of several processes this one is: read from the variables that launchers set."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, replace

from pippin.errors import PippinError

#: By launcher: its variables for rank and number of processes, and for both on this computer. The first that is there
#: counts.
_LAUNCHERS = {
    # accelerate launch, Kubeflow and Ray Train set these too.
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    "srun": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"),
}
#: Set by `--processes`, which tells of lost processes itself.
OWN_LAUNCHER = "PIPPIN_LAUNCHER"
#: Exit code of a process of which the first one says what went wrong.
TOLD = 3
#: Ports that Slurm's jobs are spread over, so that two on one computer do not meet.
_FIRST_PORT, _PORTS = 20_000, 10_000


@dataclass(frozen=True)
class Place:
    """A process among those of its job."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    """How many of them are on this computer, as far as the launcher says."""
    launcher: str = ""
    """Who started it; empty: nobody, it is alone."""
    restarts: int = 0
    """How often the launcher has started the whole job again."""

    @property
    def is_first(self) -> bool:
        return self.rank == 0


def place_here(environment: Mapping[str, str] = os.environ) -> Place:
    """The place of this process; contradicting variables are refused. A process group that is there already counts."""
    place = _by_variables(environment)
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not (distributed.is_available() and distributed.is_initialized()):
        return place
    rank, size = distributed.get_rank(), distributed.get_world_size()
    return replace(place, rank=rank, size=size, launcher=place.launcher or "torch.distributed")


def _by_variables(environment: Mapping[str, str]) -> Place:
    for launcher, (rank, size, local_rank, local_size) in _LAUNCHERS.items():
        # Within a batch script Slurm's variables are there as well, but only srun starts several processes.
        if rank in environment and size in environment and (launcher != "srun" or "SLURM_STEP_ID" in environment):
            place = Place(
                _number(environment, rank),
                _number(environment, size),
                _number(environment, local_rank),
                # Slurm writes it as 4(x2),1: the first computers' number comes first.
                max(int(re.match(r"\d*", environment.get(local_size, ""))[0] or 1), 1),  # type: ignore[index]
                environment.get(OWN_LAUNCHER) or launcher,
                _number(environment, "TORCHELASTIC_RESTART_COUNT"),
            )
            if place.rank >= max(place.size, 1):
                raise PippinError(
                    f"{rank}={place.rank} and {size}={place.size} contradict each other: ranks count from 0. "
                    "Check how the job was launched, or unset both to run a single process."
                )
            return place
    return Place()


def complete_environment(environment: MutableMapping[str, str]) -> None:
    """What torch.distributed needs to meet the others, where srun has only said who they are."""
    place = place_here(environment)
    if place.launcher != "srun":
        return
    environment.setdefault("RANK", str(place.rank))
    environment.setdefault("WORLD_SIZE", str(place.size))
    environment.setdefault("LOCAL_RANK", str(place.local_rank))
    nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST") or "127.0.0.1"
    environment.setdefault("MASTER_ADDR", first_host(nodes))
    environment.setdefault("MASTER_PORT", str(_FIRST_PORT + _number(environment, "SLURM_JOB_ID") % _PORTS))


def first_host(nodes: str) -> str:
    """The first computer of Slurm's list.

    >>> first_host("gpu[03-05,9],login"), first_host("mac-a,mac-b")
    ('gpu03', 'mac-a')
    """
    found = re.match(r"([^,\[]+)(?:\[(\w+))?", nodes)
    return "".join(part or "" for part in found.groups()) if found else nodes


def _number(environment: Mapping[str, str], name: str) -> int:
    value = environment.get(name, "0")
    if not value.isdigit():
        raise PippinError(f"{name}={value} in the environment is not a whole number. Unset it, or launch the job anew.")
    return int(value)
