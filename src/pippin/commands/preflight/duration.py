"""How long a step takes on a chip: its arithmetic and its traffic, each at the share of the chip's best that published
runs reached. An estimate; nothing was measured by us on a Mac.

The two shares are fitted to four published runs of BERT-base and held against three others
(`benchmarks/preflight/published_speed.py`, which also says how far they are off).
"""

from __future__ import annotations

from dataclasses import dataclass

from pippin.commands.preflight.answer import Duration
from pippin.commands.preflight.epoch import lengths_of, mean_tokens
from pippin.commands.preflight.memory import Forecast, computes_frozen_part_once
from pippin.machine.chips import Chip

#: Of the chip's peak arithmetic and of its memory's bandwidth.
SHARE_OF_ARITHMETIC, SHARE_OF_BANDWIDTH = 0.76, 0.78
#: The three runs that were not fitted lie within a factor of 1.4.
SPREAD = 1.5
BASIS = (
    "estimated from the step's arithmetic and memory traffic, scaled to four published BERT runs on M1 to M3 (three "
    "other runs took 0.8 to 1.3 times the estimate; newer chips and other models were not among them)"
)


#: Bytes that an AdamW update reads and writes for each trained parameter: weight, gradient, two moments.
_UPDATE_BYTES = 28


@dataclass(frozen=True)
class StepCost:
    """Operations, and bytes read and written."""

    flops: float
    moved: float


def mean_step(found: Forecast) -> StepCost:
    """A process's part of an optimiser step of mean size: the heaviest one, scaled by its tokens."""
    share = mean_tokens(found.job) / found.step_tokens / found.job.plan.execution.processes.value
    return StepCost(share * found.step.flops, share * found.step.moved + _UPDATE_BYTES * found.trained)


def beside_steps(found: Forecast) -> StepCost:
    """Evaluations, and a frozen part's features."""
    plan, rows = found.job.plan, found.job.rows
    times = plan.schedule.steps.value // plan.schedule.eval_steps.value if plan.schedule.eval_steps.value else 1
    tokens = times * sum(int(split.lengths.sum()) for split in rows.validation.values())
    if computes_frozen_part_once(plan):
        tokens += int(lengths_of(found.job).sum())
    batches = tokens / found.evaluation_tokens / plan.execution.processes.value
    return StepCost(batches * found.evaluation.flops, batches * found.evaluation.moved)


def seconds_of(chip: Chip, work: StepCost) -> float:
    """How long it takes on a chip."""
    arithmetic = work.flops / (SHARE_OF_ARITHMETIC * chip.tera_flops * 1e12)
    return arithmetic + work.moved / (SHARE_OF_BANDWIDTH * chip.bandwidth * 1e9)


def estimated(found: Forecast, chip: Chip) -> Duration:
    """Of the whole training, with the range in which published runs were."""
    step = seconds_of(chip, mean_step(found))
    seconds = found.job.plan.schedule.steps.value * step + seconds_of(chip, beside_steps(found))
    return Duration(seconds / SPREAD, seconds, seconds * SPREAD, step, BASIS)
