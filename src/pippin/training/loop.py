"""The training loop. It reads as the algorithm; printing, saving and scoring are calls out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pippin.data.batches import Batch, collate, training_order
from pippin.data.encoding import Encoded
from pippin.errors import PippinError
from pippin.failures.work import repeatable
from pippin.machine.backends.base import Backend
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.training.best import BestSoFar
from pippin.training.copies import Copies
from pippin.training.events import Events
from pippin.training.inference import Evaluation
from pippin.training.meter import Meter
from pippin.training.step import EagerStep


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


@dataclass(frozen=True)
class Training:
    """All that the loop works with."""

    recipe: Recipe
    plan: Plan
    backend: Backend
    step: EagerStep
    encoded: Encoded
    evaluate: Callable[[], Evaluation]
    events: Events
    copies: Copies


def train(job: Training) -> Outcome:
    """Train the model in place and leave the best (or last) weights in it."""
    recipe, plan = job.recipe, job.plan
    meter = Meter(job.backend, plan.steps.value, job.events.emit)
    best = _best_so_far(job)
    stopped_early = False
    job.step.model.train()
    if recipe.eval_on_start:
        _evaluate(job, 0, 0.0, meter, None)
    step, epoch = 0, 0.0
    for epoch, rows in _steps(job):
        step += 1
        batches = _micro_batches(job, rows)
        with repeatable(job.step.repeat, batches):
            loss, norm = job.step(batches)
            meter.add(loss, norm, len(rows), sum(batch.tokens for batch in batches))
            if _is_due(plan.logging_steps.value, step, plan.steps.value) or (step == 1 and recipe.logging_first_step):
                _log(job, step, epoch, meter)
        if _is_due(plan.eval_steps.value, step, plan.steps.value) and _past_delay(recipe, step, epoch):
            is_best = _evaluate(job, step, epoch, meter, best)
            if is_best and (_keeps_best(job) or recipe.save_strategy == "best"):
                _save(job, step, meter, best)
        if _is_due(plan.save_steps.value, step, plan.steps.value):
            _save(job, step, meter, best)
        if recipe.torch_empty_cache_steps and step % recipe.torch_empty_cache_steps == 0:
            job.backend.empty_cache()
        relief = job.backend.relieve()
        if relief is not None:
            job.events.emit("relieved", step=step, before=relief.before, after=relief.after)
        if best is not None and best.should_stop:
            stopped_early = step < plan.steps.value
            break
    job.backend.synchronize()
    mean_loss = meter.finish()
    if not math.isfinite(mean_loss):
        raise _not_finite(step)
    kept = _restore_best(job, best, step)
    return Outcome(
        step, epoch, mean_loss, meter.seconds, meter.rows, meter.tokens, meter.peak_memory, kept, stopped_early
    )


def _steps(job: Training) -> Iterator[tuple[float, np.ndarray]]:
    """The rows of each optimiser step, and the epoch reached when it is done."""
    plan, recipe, lengths = job.plan, job.recipe, job.encoded.lengths
    done, epoch = 0, 0
    while done < plan.steps.value:
        order = training_order(lengths, plan.batch_size.value, plan.batching.value, recipe.order_seed, epoch)
        if recipe.dataloader_drop_last:
            order = _without_short_end(order, plan.micro_batch.value)
        for place, rows in enumerate(order, 1):
            if done == plan.steps.value:
                return
            done += 1
            yield epoch + place / len(order), rows
        epoch += 1


def _without_short_end(order: list[np.ndarray], size: int) -> list[np.ndarray]:
    """The batches without the rows that do not fill a last micro-batch; an epoch keeps at least one batch."""
    whole = order[-1][: len(order[-1]) // size * size]
    return [*order[:-1], *([whole] if len(whole) else [])] or order


def _micro_batches(job: Training, rows: np.ndarray) -> list[Batch]:
    size = job.plan.micro_batch.value
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    return [collate(job.encoded, part, job.plan.pad_lengths.value) for part in parts]


def _log(job: Training, step: int, epoch: float, meter: Meter) -> None:
    figures = meter.read()
    if not math.isfinite(figures["loss"]):
        raise _not_finite(step)
    job.events.emit("log", step=step, epoch=round(epoch, 4), learning_rate=job.step.learning_rate, **figures)


def _evaluate(job: Training, step: int, epoch: float, meter: Meter, best: BestSoFar | None) -> bool:
    """Evaluate, say so, and tell whether this is the model to keep."""
    with meter.paused():
        evaluation = job.evaluate()
    improved = best is not None and best.update(evaluation.metrics[best.metric], step)
    if job.step.metric_decides_rate:
        job.step.schedule.step(evaluation.metrics[job.plan.best_metric.value or "loss"])
    job.events.emit("evaluation", step=step, epoch=round(epoch, 4), best=improved, **evaluation.results("eval"))
    return improved


def _save(job: Training, step: int, meter: Meter, best: BestSoFar | None) -> None:
    with meter.paused():
        path = job.copies.save(job.step.model, step, best.step if best else step)
    job.events.emit("saved", step=step, path=path.name)


def _restore_best(job: Training, best: BestSoFar | None, last_step: int) -> int:
    """Leave the best weights in the model; returns their step."""
    if best is None or not _keeps_best(job) or best.step in (0, last_step):
        return last_step
    job.copies.load(job.step.model, best.step)
    return best.step


def _keeps_best(job: Training) -> bool:
    return job.recipe.load_best_model_at_end or job.plan.patience.value > 0


def _best_so_far(job: Training) -> BestSoFar | None:
    plan, recipe = job.plan, job.recipe
    if not plan.best_metric.value:
        return None
    return BestSoFar.of(
        plan.best_metric.value, recipe.greater_is_better, plan.patience.value, recipe.early_stopping_threshold
    )


def _is_due(interval: int, step: int, last: int) -> bool:
    return interval > 0 and (step % interval == 0 or step == last)


def _past_delay(recipe: Recipe, step: int, epoch: float) -> bool:
    by_steps = recipe.eval_strategy == "steps" or (recipe.eval_strategy is None and recipe.eval_steps is not None)
    return (step if by_steps else epoch) >= recipe.eval_delay


def _not_finite(step: int) -> PippinError:
    return PippinError(
        f"the loss is no longer a number by step {step}, so training stopped. "
        "Lower --learning_rate (a tenth is a good start), or leave --fp16 out."
    )
