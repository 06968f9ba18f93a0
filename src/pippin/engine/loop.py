"""The training loop. It reads as the algorithm; printing, saving and scoring are calls out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np

from pippin.data.batches import training_order
from pippin.data.encoding import Encoded
from pippin.engine.best import BestSoFar
from pippin.engine.finite import NoAnswer, NotFinite
from pippin.engine.fitting import FittingStep
from pippin.engine.group import SOLO, Group
from pippin.engine.inference import Evaluation
from pippin.engine.interrupts import Interrupted, Interrupts
from pippin.engine.meter import Meter
from pippin.engine.repeatable import repeatable
from pippin.engine.sharded import is_sharded, put_weights, whole
from pippin.engine.snapshot import optimiser_state, random_state, restore_optimiser, restore_random_state
from pippin.engine.steps.eager import EagerStep
from pippin.errors import PippinError
from pippin.machine.drivers.base import Backend
from pippin.plan.plan import Plan

#: Hears what happens: its kind, and facts by name.
Emit = Callable[..., None]


class CheckpointSaver(Protocol):
    """Keeps what a run goes on from."""

    seconds: float
    """Time that training waited for it."""

    def is_due(self) -> bool:
        """Whether it is time to save again."""

    def save(
        self,
        step: int,
        state: dict[str, Any],
        best_step: int | None,
        goes_on: bool = True,
        weights: dict[str, Any] | None = None,
    ) -> None:
        """Keep the state and the model, or its ``weights``; in the background where training goes on."""

    def look(self) -> None:
        """Tell of a save that is done, and raise what went wrong in it."""

    def wait(self) -> None:
        """Until what was begun is kept."""

    def restore(self, step: int) -> str | None:
        """Put the weights of a step back into the model; returns what stands in the way, if anything."""

    def weights_of(self, step: int) -> tuple[str | None, dict[str, Any]]:
        """What stands in the way of a step's weights, if anything, and the weights."""


@dataclass(frozen=True)
class Outcome:
    """What training left behind, beside the model's weights."""

    steps: int
    epochs: float
    loss: float
    """Mean over all steps."""
    seconds: float
    rows_seen: int
    tokens_seen: int
    peak_memory: int
    """Most bytes held on the device."""
    best_step: int
    """Step of the model that was kept."""
    stopped_early: bool
    saving_seconds: float
    """Time that training waited for checkpoints."""
    micro_batch: int
    """Rows that went through the model at once, in the end."""


@dataclass
class Progress:
    """Where training stands, beside the model and the optimiser."""

    step: int = 0
    epoch: float = 0.0
    best: BestSoFar | None = None
    stopped_early: bool = False


@dataclass(frozen=True)
class Training:
    plan: Plan
    backend: Backend
    step: EagerStep
    fitting: FittingStep
    encoded: Encoded
    evaluate: Callable[[], Evaluation]
    best: BestSoFar | None
    """Follows the evaluations, where the best model is kept."""
    emit: Emit
    saver: CheckpointSaver
    interrupts: Interrupts
    not_finite: NotFinite
    group: Group = SOLO
    state: dict[str, Any] | None = None
    """Of the checkpoint that the run goes on from."""
    new_rates: bool = False
    """Whether the learning rate's schedule is another than when that was written."""
    samples: Callable[[], Iterable[dict[str, Any]]] = tuple
    """What the model answers after an evaluation, where it answers in words."""


def train(job: Training) -> Outcome:
    """Train the model in place and leave the best (or last) weights in it."""
    plan = job.plan
    meter = Meter(job.backend, plan.schedule.steps.value, job.emit, job.not_finite)
    now = _start(job, meter)
    job.step.model.train()
    if plan.schedule.eval_on_start and now.step == 0:
        _evaluate(job, now, meter, follow=False)
    for epoch, rows in steps_of(plan, job.encoded.lengths, now.step):
        if now.stopped_early:
            break
        now.step, now.epoch = now.step + 1, epoch
        with repeatable(job.fitting.repeat, rows):
            loss, norm, tokens = job.fitting(rows, now.step)
            meter.add(loss, norm, rows, tokens)
            if _is_due(plan.schedule.logging_steps.value, now, plan) or (
                now.step == 1 and plan.schedule.logging_first_step
            ):
                job.emit("log", **_place(now), learning_rate=job.step.learning_rate, **meter.read())
        is_best = False
        if _is_due(plan.schedule.eval_steps.value, now, plan) and now.step >= plan.schedule.first_evaluation:
            is_best = _evaluate(job, now, meter)
        keeps_it = is_best and (plan.schedule.keeps_best or plan.schedule.saves_best)
        signal, is_due = divmod(job.group.agree(2 * (job.interrupts.received or 0) + job.saver.is_due()), 2)
        if keeps_it or _is_due(plan.schedule.save_steps.value, now, plan) or is_due:
            _save(job, now, meter)
        job.saver.look()
        if plan.memory.torch_empty_cache_steps and now.step % plan.memory.torch_empty_cache_steps == 0:
            job.backend.empty_cache()
        relief = job.backend.relieve()
        if relief is not None:
            job.emit("relieved", step=now.step, before=relief[0], after=relief[1])
        if signal:
            _save(job, now, meter, goes_on=False)
            message = f"stopped after step {now.step} of {plan.schedule.steps.value}, which is saved"
            raise Interrupted(message, signal)
    job.backend.synchronize()
    job.saver.wait()
    meter.check_finite(job.step.model)
    return Outcome(
        steps=now.step,
        epochs=now.epoch,
        loss=meter.finish(),
        seconds=meter.seconds,
        rows_seen=meter.rows,
        tokens_seen=meter.tokens,
        peak_memory=meter.peak_memory,
        best_step=_restore_best(job, now),
        stopped_early=now.stopped_early,
        saving_seconds=job.saver.seconds,
        micro_batch=job.fitting.micro_batch,
    )


def _start(job: Training, meter: Meter) -> Progress:
    """The beginning, or the place of the checkpoint with everything as it was there."""
    state, best = job.state, job.best
    if state is None:
        return Progress(best=best)
    restore_optimiser(job.step, state, job.new_rates)
    meter.restore(state["meter"])
    job.fitting.micro_batch = min(job.fitting.micro_batch, state["micro_batch"])
    if state["compiled"]:
        job.step.compile()
    if best is not None and state["best"] is not None:
        best = replace(best, **{name: state["best"][name] for name in ("value", "step", "without_gain")})
    restore_random_state(job.backend, state["random"])  # last, for the rest may draw
    return Progress(state["step"], state["epoch"], best, state["stopped_early"])


def _evaluate(job: Training, now: Progress, meter: Meter, follow: bool = True) -> bool:
    """Evaluate, say so, and tell whether this is the model to keep."""
    meter.check_finite(job.step.model)
    try:
        with meter.paused():
            evaluation = job.evaluate()
            samples = list(job.samples())
    except NoAnswer as error:
        if not now.step:
            raise
        _save(job, now, meter, goes_on=False)  # the weights are sound
        raise PippinError(f"{error} Step {now.step} of {job.plan.schedule.steps.value} is saved.") from None
    best = now.best if follow else None
    # A metric that these rows leave undefined is no gain.
    improved = best is not None and best.update(evaluation.metrics.get(best.metric, math.nan), now.step)
    if job.step.metric_decides_rate:
        job.step.schedule.step(evaluation.metrics.get(job.plan.schedule.best_metric.value or "loss", math.nan))
    job.emit("evaluation", **_place(now), best=improved, **evaluation.results("eval"))
    for sample in samples:
        job.emit("sample", **_place(now), **sample)
    if best is not None and best.should_stop:
        now.stopped_early = now.step < job.plan.schedule.steps.value
    return improved


def _save(job: Training, now: Progress, meter: Meter, goes_on: bool = True) -> None:
    """A checkpoint of all that the next step depends on."""
    meter.check_finite(job.step.model)
    with meter.paused():
        job.saver.wait()
        state = {
            "step": now.step,
            "epoch": now.epoch,
            "stopped_early": now.stopped_early,
            "best": asdict(now.best) if now.best else None,
            "meter": meter.state(),
            "micro_batch": job.fitting.micro_batch,
            "compiled": job.step.is_compiled,
            "random": random_state(job.backend),
            **optimiser_state(job.step),
        }
        best = now.best.step if now.best and job.plan.schedule.keeps_best else None
        weights = whole(job.step.model.state_dict()) if is_sharded(job.step.model) else None
        job.saver.save(now.step, state, best, goes_on, weights)
        if not goes_on:
            job.saver.wait()


def _restore_best(job: Training, now: Progress) -> int:
    best = now.best
    if best is None or not job.plan.schedule.keeps_best or best.step in (0, now.step):
        return now.step
    if is_sharded(job.step.model):
        problem, weights = job.group.share(job.saver.weights_of(best.step))
        if problem is None:
            put_weights(job.step.model, weights)
    else:
        problem = job.group.share(job.saver.restore(best.step))
        job.group.share_weights(job.step.model)
    if problem is not None:
        job.emit("best_lost", step=best.step, why=problem)
        return now.step
    return best.step


def _place(now: Progress) -> dict[str, float]:
    return {"step": now.step, "epoch": round(now.epoch, 4)}


def _is_due(interval: int, now: Progress, plan: Plan) -> bool:
    return interval > 0 and (now.step % interval == 0 or now.step == plan.schedule.steps.value)


def steps_of(plan: Plan, lengths: np.ndarray, done: int = 0) -> Iterator[tuple[float, np.ndarray]]:
    """The rows of each step after those that are done, and the epoch reached with it."""
    epoch = passed = 0
    while passed < plan.schedule.steps.value:
        order = training_order(
            lengths, plan.batches.batch_size.value, plan.batches.batching.value, plan.batches.order_seed, epoch
        )
        if plan.batches.drop_last:
            order = _without_short_end(order, plan.batches.drop_last)
        for place, rows in enumerate(order[: plan.schedule.steps.value - passed], 1):
            passed += 1
            if passed > done:
                yield epoch + place / len(order), rows
        epoch += 1


def _without_short_end(order: list[np.ndarray], size: int) -> list[np.ndarray]:
    """The batches without the rows that do not fill a last micro-batch; an epoch keeps at least one batch."""
    whole = order[-1][: len(order[-1]) // size * size]
    return [*order[:-1], *([whole] if len(whole) else [])] or order
