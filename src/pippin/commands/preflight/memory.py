"""What a planned job holds at its worst moment, from a step and an evaluation with fake tensors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pippin.commands.planning import PlannedJob
from pippin.commands.preflight.epoch import heaviest_step, lengths_of, tokens_of
from pippin.commands.preflight.fake import GRADIENTS, WEIGHTS, FakeJob, FakeRun
from pippin.data.batches import evaluation_order, fixed_order
from pippin.engine.inference import MOST_ROWS
from pippin.machine.traits import DeviceTraits
from pippin.plan.fits import BESIDE, IN_BACKWARD
from pippin.plan.frozen import NOT_KEPT, NOTHING
from pippin.plan.memory import FULL, WAITING_GRADIENTS, Estimate, optimiser_bytes
from pippin.plan.plan import Plan
from pippin.plan.sharing import SPREAD, gradient_sums
from pippin.plan.steps import CAPTURED
from pippin.plan.trained import ADAPTERS
from pippin.runs.saving import room_needed


@dataclass(frozen=True)
class Forecast:
    """A job with fake tensors: its heaviest step and evaluation, and the memory that follows from them."""

    job: PlannedJob
    step: FakeRun
    evaluation: FakeRun
    memory: Estimate
    step_tokens: int
    """Of the micro-batches that were run, with padding."""
    evaluation_tokens: int
    trained: int
    """Parameters that are trained."""
    disk: int
    """Bytes that its checkpoints and its model take."""


def forecast(job: PlannedJob) -> Forecast:
    """Run the job's heaviest step with fake tensors."""
    assert job.rows.train is not None
    traits = job.machine.device(job.plan.execution.device.value)
    fake = FakeJob(job.plan, job.data.task, job.config, job.rows.train, traits, job.facts.adapters)
    heaviest, evaluated = heaviest_step(job), _heaviest_evaluation(job, traits)
    # Twice where several micro-batches make a step: the second has gradients beside it.
    parts = heaviest[:1] * min(len(heaviest), 2)
    step, evaluation = fake.training_step(parts), fake.evaluation(evaluated)
    return Forecast(
        job,
        step,
        evaluation,
        _memory(job, fake, step, evaluation, traits),
        sum(tokens_of(job, part) for part in parts),
        tokens_of(job, evaluated),
        fake.trained,
        room_needed(fake.model, job.plan.schedule.save_total_limit),
    )


class FakeEstimator:
    """The memory of a job's plans, each run with fake tensors."""

    def __init__(self, job: PlannedJob):
        self.job = job
        self.forecasts: list[Forecast] = []
        """The first is of the job as asked."""

    def __call__(self, plan: Plan) -> Estimate:
        self.forecasts.append(forecast(replace(self.job, plan=plan)))
        return self.forecasts[-1].memory

    def of(self, job: PlannedJob) -> Forecast:
        """What was found for the plan that came out."""
        needed = job.plan.memory.needed.value
        return replace(next(each for each in self.forecasts if each.memory.total == needed), job=job)


def _memory(job: PlannedJob, fake: FakeJob, step: FakeRun, evaluation: FakeRun, traits: DeviceTraits) -> Estimate:
    plan, trained, weights = job.plan, fake.trained, step.parts[WEIGHTS]
    kept, updating = optimiser_bytes(plan.rates.optim, plan.rates.optim_state == "bf16")
    moments = [step]
    if plan.memory.updates.value == IN_BACKWARD:  # gradients go as they come
        waiting = min(FULL * trained, WAITING_GRADIENTS)
        gradients = step.parts.get(GRADIENTS, 0) + waiting
        moments = [replace(step, peak=step.peak + waiting, parts={**step.parts, GRADIENTS: gradients})]
    else:
        parts = {WEIGHTS: weights, GRADIENTS: FULL * trained, "workspace": updating * trained}
        moments.append(replace(step, peak=sum(parts.values()), parts=parts))
    if sums := gradient_sums(plan):
        moments = [_with(each, GRADIENTS, sums * FULL * trained) for each in moments]
    # The features of a frozen part are computed without gradients; evaluations come between steps.
    features = plan.execution.frozen.value != NOTHING and job.facts.family is not None
    if job.rows.validation or job.rows.test or features:
        moments.append(_with(evaluation, GRADIENTS, sums * FULL * trained))
    kept *= trained
    if plan.execution.weights.value == SPREAD:
        processes, whole = plan.execution.processes.value, FULL * fake.largest_layer
        kept //= processes
        moments = [_with(each, WEIGHTS, weights // processes + 2 * whole) for each in moments]
        moments = [_with(each, GRADIENTS, each.parts.get(GRADIENTS, 0) // processes + whole) for each in moments]
    worst = max(moments, key=lambda each: each.peak)
    copies = traits.saves_from_own_memory and plan.memory.saving.value == BESIDE
    copied = FULL * trained if plan.execution.trained.value == ADAPTERS else weights
    others = {
        "already in use": traits.held_bytes + traits.own_memory_bytes,
        "optimiser state": kept,
        "checkpoint": copied + kept if copies else 0,
        "recorded steps": step.peak - weights if plan.execution.step.value == CAPTURED else 0,
    }
    return Estimate({**worst.parts, **{name: size for name, size in others.items() if size}})


def _with(moment: FakeRun, part: str, size: int) -> FakeRun:
    """A moment at which another number of bytes is held for something."""
    more = size - moment.parts.get(part, 0)
    return replace(moment, peak=moment.peak + more, parts={**moment.parts, part: size})


def _heaviest_evaluation(job: PlannedJob, traits: DeviceTraits) -> np.ndarray:
    """The batch with the most tokens, of rows that are run without gradients: by length, and filled up to a shape."""
    plan, lengths = job.plan, lengths_of(job)
    among = np.arange(len(lengths))
    if plan.execution.states.value == NOT_KEPT and not (job.rows.validation or job.rows.test):
        among = np.concatenate(heaviest_step(job))  # at most the frozen part is run so, on the rows of a step
    tokens, widths = traits.evaluation_tokens, plan.batches.pad_lengths.value
    most = plan.batches.per_device_eval_batch_size or MOST_ROWS
    if widths:
        batches = [np.resize(places, size) for places, size in fixed_order(lengths[among], widths, most, tokens)]
    else:
        batches = list(evaluation_order(lengths[among], most, tokens))
    return among[max(batches, key=lambda places: tokens_of(job, among[places]))]


def computes_frozen_part_once(plan: Plan) -> bool:
    """Whether rows go through a frozen part before the first step, and no more."""
    return plan.execution.frozen.value != NOTHING and plan.execution.states.value != NOT_KEPT
