"""One job on every Mac: how long it takes by batch size, and the memory that it wants."""

from __future__ import annotations

from dataclasses import dataclass

from pippin.commands.planning import PlannedJob, replanned
from pippin.commands.preflight.duration import BASIS, SPREAD, beside_steps, mean_step, seconds_of
from pippin.commands.preflight.memory import forecast
from pippin.commands.preflight.target import some_mac
from pippin.machine.chips import CHIPS, Chip, gpu_budget

BATCHES = (8, 16, 32, 64)
_LARGEST = "m3-ultra"


@dataclass(frozen=True)
class Cell:
    batch: int
    seconds: float
    """Of the whole training: an estimate."""
    memory: int | None
    """GB of the smallest Mac with this chip that holds it as asked; None where none does."""


@dataclass(frozen=True)
class Row:
    chip: str
    gpu_cores: int
    cells: tuple[Cell, ...]


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
    found = {
        batch: forecast(
            replanned(
                job,
                mac.machine,
                per_device_train_batch_size=batch,
                num_train_epochs=job.plan.schedule.epochs.value,
                gradient_accumulation_steps=1,
                max_steps=-1,
            )
        )
        for batch in BATCHES
    }
    needed = {batch: each.memory.total for batch, each in found.items()}
    rows = []
    for chip in CHIPS.values():
        cells = []
        for batch, each in found.items():
            steps = each.job.plan.schedule.steps.value
            seconds = steps * seconds_of(chip, mean_step(each)) + seconds_of(chip, beside_steps(each))
            cells.append(Cell(batch, seconds, _smallest(chip, needed[batch])))
        rows.append(Row(chip.name, chip.gpu_cores, tuple(cells)))
    precision = next(iter(found.values())).job.plan.execution.precision.value
    return Comparison(f"{job.data.name} · {job.model}", precision, needed, tuple(rows), SPREAD, BASIS)


def _smallest(chip: Chip, needed: int) -> int | None:
    return next((size for size in chip.memory if gpu_budget(size * 2**30) >= needed), None)
