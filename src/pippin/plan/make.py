"""Making the Plan: from what was asked, what the computer can do, and what the rows are like."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pippin.data.batches import WINDOW, padded_lengths, plan_lengths, training_order
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.machine import Machine
from pippin.plan.device import choose_device, choose_precision
from pippin.plan.fits import RECOMPUTED, MemoryJob, choose_budget, choose_fit
from pippin.plan.frozen import CORE, NOTHING, choose_frozen, choose_states, frozen_layers
from pippin.plan.guards import asked_rows, choose_guards, choose_micro_batch, describe_work
from pippin.plan.hyperparameters import (
    HUGGING_FACE,
    JobFacts,
    choose_batch_size,
    choose_epochs,
    choose_head_rate,
    choose_learning_rate,
)
from pippin.plan.layout import PACKED, choose_last_layer, choose_layout, choose_word_vectors
from pippin.plan.plan import Choice, Plan
from pippin.plan.steps import choose_capacities, choose_compiling, choose_step
from pippin.recipe import Recipe
from pippin.tasks.base import Reads, Task


@dataclass(frozen=True)
class Rows:
    """What the plan needs to know of the encoded rows."""

    lengths: np.ndarray | None
    """Tokens of each training row; None when nothing is trained."""
    evaluated: tuple[np.ndarray, ...]
    """Tokens of each row of every other split."""
    outputs: int
    has_validation: bool
    pads_left: bool = False
    words: int = 0
    """Different tokens in the training rows."""


def make_plan(recipe: Recipe, machine: Machine, task: Task, config: object, limit: int | None, rows: Rows) -> Plan:
    """Decide everything that the recipe leaves open."""
    task.check(recipe)
    device = choose_device(recipe, machine)
    training_rows = 1 if rows.lengths is None else len(rows.lengths)
    frozen = choose_frozen(recipe, config)
    width = getattr(config, "hidden_size", None) or 768
    facts = JobFacts(training_rows, rows.outputs, width, head_only=frozen.value == CORE)
    batch = choose_batch_size(recipe, facts)
    epochs = choose_epochs(recipe, facts)
    rate = choose_learning_rate(recipe, facts)
    precision = choose_precision(recipe, machine, device.value)
    longest = max((int(lengths.max()) for lengths in (rows.lengths, *rows.evaluated) if lengths is not None), default=1)
    layout = choose_layout(recipe, config, device.value, precision.value, longest, rows.pads_left)
    batching = _choose_batching(recipe, device.value, layout.value)
    padding = _choose_pad_lengths(recipe, device.value, rows, batch.value, limit, layout.value, batching.value)
    work = describe_work(recipe, config, precision.value, rows.lengths, padding.value, batch.value)
    micro_batch = choose_micro_batch(recipe, batch.value, work, device.value)
    # By what was asked for: how memory is saved must not change which rows are trained on.
    steps_per_epoch = _steps_per_epoch(
        facts.rows, batch.value, asked_rows(recipe, batch.value), recipe.dataloader_drop_last
    )
    steps = _choose_steps(recipe, epochs.value, steps_per_epoch)
    if recipe.max_steps > 0:
        epochs = Choice(round(steps.value / steps_per_epoch, 2), "follows from --max_steps")
    evaluates = _choose_eval_steps(recipe, steps.value, steps_per_epoch, rows.has_validation)
    best = _choose_best_metric(recipe, task, evaluates.value > 0)
    last_layer = choose_last_layer(config, rows.pads_left, task.reads)
    word_vectors = choose_word_vectors(recipe, rows.words, frozen.value)
    step = choose_step(recipe, device.value, precision.value, layout.value, steps.value, frozen.value)
    budget = choose_budget(recipe, device.value)
    job = MemoryJob(
        recipe=recipe,
        config=config,
        device=device.value,
        precision=precision.value,
        layout=layout.value,
        last_layer=last_layer.value,
        batching=batching.value,
        pad_lengths=padding.value,
        lengths=rows.lengths,
        batch=batch.value,
        word_vectors=word_vectors.value,
        frozen_layers=_frozen_layers(config, frozen.value),
        outputs=rows.outputs,
    )
    fit = choose_fit(job, micro_batch, step, budget.value)
    work = replace(work, recomputes=work.trains and fit.activations.value == RECOMPUTED)
    micro_batch, step = fit.micro_batch, fit.step
    return Plan(
        device=device,
        precision=precision,
        max_length=_choose_max_length(recipe, limit),
        batch_size=batch,
        micro_batch=micro_batch,
        micro_tokens=fit.micro_tokens,
        activations=fit.activations,
        updates=fit.updates,
        saving=fit.saving,
        memory=fit.memory,
        memory_budget=budget,
        batching=batching,
        layout=layout,
        last_layer=last_layer,
        word_vectors=word_vectors,
        frozen=frozen,
        states=_choose_states(recipe, config, frozen.value, rows, task.reads),
        pad_lengths=padding,
        learning_rate=rate,
        head_learning_rate=choose_head_rate(recipe, facts, rate.value),
        epochs=epochs,
        steps=steps,
        warmup_steps=_choose_warmup(recipe, steps.value),
        logging_steps=_choose_logging(recipe, steps.value, steps_per_epoch),
        eval_steps=evaluates,
        save_steps=_choose_saving(recipe, steps.value, steps_per_epoch),
        best_metric=best,
        patience=_choose_patience(recipe),
        guards=choose_guards(work, device.value),
        step=step,
        compiled=choose_compiling(recipe, precision.value, step.value),
        capacities=choose_capacities(recipe, rows.lengths, batch.value, micro_batch.value, batching.value, step.value),
    )


def _choose_states(recipe: Recipe, config: object, frozen: str, rows: Rows, reads: Reads) -> Choice[str]:
    splits = [lengths for lengths in (rows.lengths, *rows.evaluated) if lengths is not None]
    count, tokens = sum(len(lengths) for lengths in splits), sum(int(lengths.sum()) for lengths in splits)
    return choose_states(recipe, config, frozen, count, tokens, rows.pads_left, reads)


def _frozen_layers(config: object, frozen: str) -> int | None:
    """The lowest layers that are not trained; None where all are, and the embeddings too."""
    if frozen == NOTHING:
        return None
    layers = frozen_layers(frozen)
    return getattr(config, "num_hidden_layers", 0) if layers is None else layers


def _steps_per_epoch(rows: int, batch: int, micro_batch: int, drop_last: bool) -> int:
    if drop_last:  # rows that do not fill a micro-batch are left out
        rows = max(rows // micro_batch * micro_batch, 1)
    return math.ceil(rows / batch)


def _choose_max_length(recipe: Recipe, limit: int | None) -> Choice[int]:
    if limit is not None and recipe.max_seq_length > limit:
        return Choice(limit, f"the model takes no more than this (max_seq_length is {recipe.max_seq_length})")
    return Choice(recipe.max_seq_length, "tokens; longer texts are cut")


def _choose_batching(recipe: Recipe, device: str, layout: str) -> Choice[str]:
    asked = recipe.train_sampling_strategy
    if asked is not None and asked != "group_by_length":
        return Choice(asked, "asked for by --train_sampling_strategy")
    if asked is None and layout == PACKED and get_backend(device).packed_attention == "kernel":
        return Choice("random", "nothing is padded, so like lengths need not go together")
    return Choice("windows", f"shuffled, then sorted by length within {WINDOW} batches: like lengths go together")


def _choose_pad_lengths(
    recipe: Recipe, device: str, rows: Rows, batch: int, limit: int | None, layout: str, batching: str
) -> Choice[tuple[int, ...]]:
    if recipe.pad_to_max_length:
        return Choice((min(recipe.max_seq_length, limit or recipe.max_seq_length),), "asked for by --pad_to_max_length")
    if layout == PACKED:
        return Choice((), "nothing is padded")
    most = get_backend(device).shape_limit
    if most is None:
        return Choice((), "each batch to its longest row: this device takes any shape")
    lengths = np.array([], dtype=np.int64) if rows.lengths is None else rows.lengths
    order = training_order(lengths, batch, batching, recipe.order_seed, epoch=0)
    trained = [np.full(len(chosen), lengths[chosen].max()) for chosen in order]
    work = np.concatenate([lengths[:0], *trained, *rows.evaluated])
    planned = plan_lengths(work, most)
    waste = 1 - sum(each.sum() for each in (lengths, *rows.evaluated)) / padded_lengths(work, planned).sum()
    return Choice(planned, f"few shapes, which this device needs; {waste:.0%} of the work is padding")


def _choose_steps(recipe: Recipe, epochs: float, steps_per_epoch: int) -> Choice[int]:
    if recipe.max_steps > 0:
        return Choice(recipe.max_steps, "asked for by --max_steps")
    return Choice(max(1, math.ceil(epochs * steps_per_epoch)), f"{steps_per_epoch} an epoch")


def _choose_warmup(recipe: Recipe, steps: int) -> Choice[int]:
    if recipe.lr_scheduler_type in ("constant", "reduce_lr_on_plateau"):
        return Choice(0, f"the schedule {recipe.lr_scheduler_type} has none")
    if recipe.warmup_steps:
        return Choice(_steps(recipe.warmup_steps, steps), "asked for")
    if recipe.warmup_ratio is not None:
        return Choice(math.ceil(recipe.warmup_ratio * steps), "asked for by --warmup_ratio")
    if recipe.warmup_steps is not None:
        return Choice(0, "asked for")
    if recipe.is_classic:
        return Choice(0, HUGGING_FACE)
    return Choice(math.ceil(0.1 * steps), "a tenth of the steps")


def _choose_logging(recipe: Recipe, steps: int, steps_per_epoch: int) -> Choice[int]:
    if recipe.logging_strategy == "no":
        return Choice(0, "asked for by --logging_strategy no")
    if recipe.logging_strategy == "epoch":
        return Choice(steps_per_epoch, "once an epoch")
    if recipe.logging_steps is not None:
        return Choice(_steps(recipe.logging_steps, steps), "asked for")
    return Choice(min(500, max(1, steps // 20)), "about twenty lines")


def _choose_eval_steps(recipe: Recipe, steps: int, steps_per_epoch: int, has_validation: bool) -> Choice[int]:
    strategy = recipe.eval_strategy
    if not has_validation:
        if strategy not in (None, "no") or recipe.eval_on_start:
            flag = "--eval_on_start" if recipe.eval_on_start else f"--eval_strategy {strategy}"
            raise PippinError(f"{flag}: there are no validation rows. Give some with --validation_file.")
        return Choice(0, "there are no validation rows")
    if strategy is None:
        if recipe.eval_steps is not None:
            strategy = "steps"
        elif recipe.is_classic:
            return Choice(0, HUGGING_FACE + ": only at the end")
        else:
            return Choice(steps_per_epoch, "once an epoch")
    if strategy == "no":
        return Choice(0, "asked for by --eval_strategy no")
    if strategy == "epoch":
        return Choice(steps_per_epoch, "once an epoch, asked for")
    if recipe.eval_steps is not None:
        return Choice(_steps(recipe.eval_steps, steps), "asked for")
    if recipe.logging_steps is not None:
        return Choice(_steps(recipe.logging_steps, steps), "as often as logging")
    return Choice(500, HUGGING_FACE)


def _choose_best_metric(recipe: Recipe, task: Task, evaluates: bool) -> Choice[str]:
    wishes = {
        "--load_best_model_at_end": recipe.load_best_model_at_end,
        "--early_stopping_patience": recipe.early_stopping_patience,
        "--save_strategy best": recipe.save_strategy == "best",
        "--lr_scheduler_type reduce_lr_on_plateau": recipe.lr_scheduler_type == "reduce_lr_on_plateau",
    }
    asked = [flag for flag, wished in wishes.items() if wished]
    if not asked and recipe.is_classic:
        return Choice("", HUGGING_FACE)
    if not asked:
        return Choice("", "its learning rate has run out, and small validation sets mislead")
    if not evaluates:
        raise PippinError(
            f"{asked[0]} needs evaluations while training: add --eval_strategy epoch, "
            "and --validation_file where there are no validation rows."
        )
    if recipe.metric_for_best_model:
        name = recipe.metric_for_best_model.removeprefix("eval_")
        known = {*task.metrics, task.main_metric, "loss"}
        if name not in known:
            raise PippinError(f"--metric_for_best_model {name}: this task has {', '.join(sorted(known))}.")
        return Choice(name, "asked for")
    if recipe.is_classic:
        return Choice("loss", HUGGING_FACE)
    return Choice(task.main_metric, "the task's own")


def _choose_patience(recipe: Recipe) -> Choice[int]:
    if recipe.early_stopping_patience is not None:
        return Choice(recipe.early_stopping_patience, "asked for")
    return Choice(0, "never stops early")


def _choose_saving(recipe: Recipe, steps: int, steps_per_epoch: int) -> Choice[int]:
    if recipe.save_strategy == "epoch":
        return Choice(steps_per_epoch, "once an epoch, asked for")
    if recipe.save_strategy == "steps" or (recipe.save_strategy is None and recipe.save_steps is not None):
        return Choice(_steps(recipe.save_steps or 500, steps), "asked for")
    if recipe.save_strategy == "best":
        return Choice(0, "only when it is the best so far")
    return Choice(0, "only the finished model")


def _steps(value: float, total: int) -> int:
    """A number of steps, or below 1 a share of all of them."""
    return math.ceil(value * total) if value < 1 else int(value)
