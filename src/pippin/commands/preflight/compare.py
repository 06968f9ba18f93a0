"""One job on every Mac: how long it takes by batch size, and the memory that it wants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pippin.commands.planning import PlannedJob, replanned
from pippin.commands.preflight.duration import BASIS, SPREAD, estimated
from pippin.commands.preflight.memory import forecast
from pippin.commands.preflight.target import smallest_memory, some_mac
from pippin.machine.chips import CHIPS, Chip

BATCHES = (8, 16, 32, 64)
_LARGEST = "m3-ultra"


@dataclass(frozen=True)
class BatchForecast:
    batch: int
    seconds: float
    """Of the whole training: an estimate."""
    memory: int | None
    """GB of the smallest Mac with this chip that holds it as asked; None where none does."""


@dataclass(frozen=True)
class Row:
    chip: str
    gpu_cores: int
    cells: tuple[BatchForecast, ...]


@dataclass(frozen=True)
class Comparison:
    job: str
    precision: str
    needed: dict[int, int]
    """Bytes by batch size."""
    rows: tuple[Row, ...]
    spread: float
    """By this factor times may be shorter or longer."""
    basis: str


def compare(job: PlannedJob) -> Comparison:
    """The job on every chip, trained at each batch size for the same number of epochs."""
    mac = some_mac(_LARGEST, job.machine, memory=CHIPS[_LARGEST].memory[-1])
    # One after the other is planned for a Mac with room for anything: nothing is done to save memory.
    same: dict[str, Any] = {
        "num_train_epochs": job.plan.schedule.epochs.value,
        "gradient_accumulation_steps": 1,
        "max_steps": -1,
    }
    found = {
        batch: forecast(replanned(job, mac.machine, per_device_train_batch_size=batch, **same)) for batch in BATCHES
    }
    needed = {batch: each.memory.total for batch, each in found.items()}

    def cell(chip: Chip, batch: int) -> BatchForecast:
        return BatchForecast(batch, estimated(found[batch], chip).likely, smallest_memory(chip.memory, needed[batch]))

    rows = tuple(
        Row(chip.name, chip.gpu_cores, tuple(cell(chip, batch) for batch in BATCHES)) for chip in CHIPS.values()
    )
    precision = found[BATCHES[0]].job.plan.execution.precision.value
    return Comparison(f"{job.data.name} · {job.model}", precision, needed, rows, SPREAD, BASIS)
