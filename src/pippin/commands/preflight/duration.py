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
    "from the step's arithmetic and memory traffic, at the speed of four published BERT runs on M1 to M3; three others "
    "took 0.8 to 1.3 times the estimate. Newer chips and other models were not among them"
)


#: Bytes that an AdamW update reads and writes for each trained parameter: weight, gradient, two moments.
_UPDATE_BYTES = 28


@dataclass(frozen=True)
class Work:
    """Operations, and bytes read and written."""

    flops: float
    moved: float

    def times(self, factor: float) -> Work:
        return Work(self.flops * factor, self.moved * factor)

    def plus(self, other: Work) -> Work:
        return Work(self.flops + other.flops, self.moved + other.moved)


def mean_step(found: Forecast) -> Work:
    """An optimiser step of mean size: the heaviest one, scaled by its tokens."""
    once = Work(found.step.flops, found.step.moved).times(mean_tokens(found.job) / found.step_tokens)
    return once.plus(Work(0, _UPDATE_BYTES * found.trained))


def beside_steps(found: Forecast) -> Work:
    """Evaluations, and a frozen part's features."""
    plan, rows = found.job.plan, found.job.rows
    times = plan.schedule.steps.value // plan.schedule.eval_steps.value if plan.schedule.eval_steps.value else 1
    tokens = times * sum(int(split.lengths.sum()) for split in rows.validation.values())
    if computes_frozen_part_once(plan):
        tokens += int(lengths_of(found.job).sum())
    return Work(found.evaluation.flops, found.evaluation.moved).times(tokens / found.evaluation_tokens)


def seconds_of(chip: Chip, work: Work) -> float:
    """How long it takes on a chip."""
    arithmetic = work.flops / (SHARE_OF_ARITHMETIC * chip.tera_flops * 1e12)
    return arithmetic + work.moved / (SHARE_OF_BANDWIDTH * chip.bandwidth * 1e9)


def estimated(seconds: float, step: float) -> Duration:
    """With the range in which published runs were."""
    return Duration(seconds / SPREAD, seconds, seconds * SPREAD, step, BASIS)
