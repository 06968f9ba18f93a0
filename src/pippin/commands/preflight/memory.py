"""What a planned job holds at its worst moment, from its steps on paper, and what makes it fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pippin.commands.planning import PlannedJob
from pippin.commands.preflight.epoch import heaviest_step, lengths_of, tokens_of
from pippin.commands.preflight.paper import GRADIENTS, WEIGHTS, OnPaper, PaperJob
from pippin.data.batches import evaluation_order, fixed_order
from pippin.engine.inference import MOST_ROWS
from pippin.machine.drivers import get_backend
from pippin.models.attention import work_of
from pippin.models.families import family_of
from pippin.plan.fits import KEPT, RECOMPUTED
from pippin.plan.frozen import NOT_KEPT, NOTHING
from pippin.plan.memory import FULL, Estimate, optimiser_bytes
from pippin.plan.plan import Choice, Plan
from pippin.plan.steps import CAPTURED, EAGER
from pippin.runs.saving import room_needed


@dataclass(frozen=True)
class Forecast:
    """A job on paper: its heaviest step and evaluation, and the memory that follows from them."""

    job: PlannedJob
    step: OnPaper
    evaluation: OnPaper
    memory: Estimate
    step_tokens: int
    """Of the micro-batches that were run on paper, with padding."""
    evaluation_tokens: int
    trained: int
    """Numbers that are trained."""
    disk: int
    """Bytes that its checkpoints and its model take."""


def forecast(job: PlannedJob) -> Forecast:
    """Run the job's heaviest step on paper."""
    assert job.rows.train is not None
    plan, backend = job.plan, get_backend(job.plan.device.value)
    attention = backend.attention(work_of(job.config, plan.precision.value))
    paper = PaperJob(job.recipe, plan, job.data.task, job.config, job.rows.train, backend, attention)
    heaviest, evaluated = heaviest_step(job), _heaviest_evaluation(job)
    # Twice where several micro-batches make a step: the second has gradients beside it.
    parts = heaviest[:1] * min(len(heaviest), 2)
    step, evaluation = paper.training_step(parts), paper.evaluation(evaluated)
    return Forecast(
        job,
        step,
        evaluation,
        _memory(job, paper, step, evaluation),
        sum(tokens_of(job, part) for part in parts),
        tokens_of(job, evaluated),
        paper.trained,
        room_needed(paper.model, job.recipe.save_total_limit or 1),
    )


def made_to_fit(job: PlannedJob, budget: int) -> Forecast:
    """The job as planned where that fits; else in the largest micro-batches that do, kept activations before recomputed
    ones; the smallest of all where nothing does."""
    found = forecast(job)
    if not budget or found.memory.total <= budget:
        return found
    activations = [KEPT, RECOMPUTED] if job.plan.activations.value == KEPT else [RECOMPUTED]
    for kept in activations:
        # Steps of one row, and of all that were planned, tell the rest: memory grows evenly with the rows.
        single = forecast(saving(job, 1, kept))
        if single.memory.total > budget:
            continue
        whole = found if kept == job.plan.activations.value else forecast(saving(job, job.plan.micro_batch.value, kept))
        return _largest_between(single, whole, budget)
    return single


def saving(job: PlannedJob, rows: int, activations: str) -> PlannedJob:
    """The job with smaller micro-batches, and with activations that are kept or not."""
    plan = replace(
        job.plan,
        micro_batch=Choice(rows, "more does not fit; together they give the whole batch's gradient"),
        step=Choice(EAGER, "recorded steps keep memory of their own"),
        capacities=Choice((), "no step is recorded"),
    )
    if activations != plan.activations.value:
        again = "else it does not fit; about a third slower, with the same gradient"
        plan = replace(plan, activations=Choice(activations, again))
    return replace(job, plan=plan)


def _largest_between(single: Forecast, whole: Forecast, budget: int) -> Forecast:
    """The largest micro-batch that fits, between one row, which does, and the whole one."""
    if whole.memory.total <= budget:
        return whole
    job, most = single.job, whole.job.plan.micro_batch.value
    a_row = (whole.memory.total - single.memory.total) / max(1, most - 1)
    rows = min(most - 1, 1 + int((budget - single.memory.total) / max(a_row, 1.0)))
    # In equal parts, as the whole batch is cut.
    rows = -(-most // -(-most // max(1, rows)))
    while rows > 1:
        found = forecast(saving(job, rows, job.plan.activations.value))
        if found.memory.total <= budget:
            return found
        rows = rows * 3 // 4
    return single


def _memory(job: PlannedJob, paper: PaperJob, step: OnPaper, evaluation: OnPaper) -> Estimate:
    plan, backend = job.plan, get_backend(job.plan.device.value)
    kept, updating = optimiser_bytes(job.recipe.optim, job.recipe.optim_state == "bf16")
    state, trained = kept * paper.trained, paper.trained
    weights = step.parts[WEIGHTS]
    moments = {
        "training": step,
        # The features of a frozen part are computed without gradients; evaluations come between steps.
        "evaluation": evaluation,
        "update": replace(
            step,
            peak=weights + (FULL + updating) * trained,
            parts={WEIGHTS: weights, GRADIENTS: FULL * trained, "workspace": updating * trained},
        ),
    }
    if not _evaluates(job):
        del moments["evaluation"]
    worst = max(moments.values(), key=lambda each: each.peak)
    recorded = step.peak - weights if plan.step.value == CAPTURED else 0
    held = backend.own_memory + (backend.memory_now() or 0)
    others = {"held before": held, "optimiser state": state, "recorded steps": recorded}
    return Estimate({**worst.parts, **{name: size for name, size in others.items() if size}})


def _heaviest_evaluation(job: PlannedJob) -> np.ndarray:
    """The batch with the most tokens, of rows that are run without gradients: by length, and filled up to a shape."""
    plan, lengths = job.plan, lengths_of(job)
    among = np.arange(len(lengths))
    if plan.states.value == NOT_KEPT and not (job.rows.validation or job.rows.test):
        among = np.concatenate(heaviest_step(job))  # at most the frozen part is run so, on the rows of a step
    tokens, widths = get_backend(plan.device.value).evaluation_tokens, plan.pad_lengths.value
    most = job.recipe.per_device_eval_batch_size or MOST_ROWS
    if widths:
        batches = [np.resize(places, size) for places, size in fixed_order(lengths[among], widths, most, tokens)]
    else:
        batches = list(evaluation_order(lengths[among], most, tokens))
    return among[max(batches, key=lambda places: tokens_of(job, among[places]))]


def _evaluates(job: PlannedJob) -> bool:
    """Whether rows are run without gradients while the optimiser's state is held."""
    features = job.plan.frozen.value != NOTHING and family_of(job.config)[0] is not None
    return bool(job.rows.validation or job.rows.test) or features


def computes_frozen_part_once(plan: Plan) -> bool:
    """Whether rows go through a frozen part before the first step, and no more."""
    return plan.frozen.value != NOTHING and plan.states.value != NOT_KEPT
