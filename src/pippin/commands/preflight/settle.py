"""The last word on a plan's memory where its quick estimate comes near what there is: a step on paper."""

from __future__ import annotations

from dataclasses import replace

from pippin.commands.planning import PlannedJob
from pippin.commands.preflight.memory import Forecast, made_to_fit
from pippin.errors import PippinError
from pippin.machine.check import gigabytes
from pippin.plan.plan import Choice


def settled(job: PlannedJob) -> PlannedJob:
    """The job with a plan that fits; refused where none does."""
    budget = job.plan.memory_budget.value
    try:
        found = made_to_fit(job, budget)
    except Exception:  # a model that must see numbers cannot be run on paper: the quick estimate has to do
        return job
    if found.memory.total > budget:
        raise PippinError(_refusal(found, budget))
    reason = f"fits: {gigabytes(found.memory.total)} of {gigabytes(budget)}, by a step on paper"
    return replace(job, plan=replace(found.job.plan, memory=Choice(found.memory.total, reason)))


def _refusal(found: Forecast, budget: int) -> str:
    return (
        f"this job does not fit into memory: at its smallest it needs {gigabytes(found.memory.total)}, and there are "
        f"{gigabytes(budget)}. `pippin preflight` with the same words says what would fit: --freeze core, a smaller "
        "model, a lower --max_seq_length. --force tries all the same."
    )
