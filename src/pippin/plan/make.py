"""Making the Plan: from what was asked, what the computer can do, and what the task, the model and the rows are like.

A pure function of plain data: it imports no torch, asks no device and reads no file.
"""

from __future__ import annotations

from dataclasses import MISSING, replace
from typing import Any

from pippin.machine.faults import safe_attention
from pippin.machine.machine import Machine
from pippin.models.facts import ModelFacts
from pippin.plan.device import choose_device, choose_precision
from pippin.plan.facts import Rows, TaskFacts
from pippin.plan.fits import (
    AFTER_BACKWARD,
    BESIDE,
    KEPT,
    RECOMPUTED,
    Estimator,
    choose_budget,
    choose_micro_tokens,
    fit,
    quick_estimator,
)
from pippin.plan.frozen import CORE, choose_frozen, choose_states
from pippin.plan.guards import asked_rows, choose_guards, choose_micro_batch, describe_work
from pippin.plan.hyperparameters import (
    JobFacts,
    choose_batch_size,
    choose_epochs,
    choose_head_rate,
    choose_learning_rate,
)
from pippin.plan.layout import (
    choose_batching,
    choose_last_layer,
    choose_layout,
    choose_pad_lengths,
    choose_word_vectors,
)
from pippin.plan.length import choose_max_length
from pippin.plan.plan import NO_CAPACITIES, NO_GUARDS, Choice, Plan, plan_fields
from pippin.plan.schedule import choose_schedule, steps_in_epoch
from pippin.plan.sharing import as_started, choose_processes, choose_shards, choose_weights
from pippin.plan.steps import NEVER, choose_capacities, choose_compiling, choose_step, choose_target_capacities
from pippin.plan.trained import ADAPTERS, choose_kept, choose_trained
from pippin.recipe import Recipe
from pippin.recipe.fields import recipe_fields

#: Settings that stand in the plan as they were given: those of the same name that are no choice.
_SETTINGS = recipe_fields().keys() & {name for name, item in plan_fields().items() if item.default is not MISSING}


def make_plan(
    recipe: Recipe,
    machine: Machine,
    task: TaskFacts,
    model: ModelFacts,
    rows: Rows,
    cache_bytes: int = 0,
    estimator: Estimator | None = None,
) -> Plan:
    """Decide everything that the recipe leaves open.

    ``cache_bytes``: what the cache may hold; 0 where it is off. ``estimator`` tells the memory of a plan; without it
    a quick formula does.
    """
    machine = as_started(recipe, machine)
    plan = _as_asked(recipe, machine, task, model, rows, cache_bytes)
    traits = machine.device(plan.execution.device.value)
    has_formula = model.size and task.reads != "targets"
    if rows.lengths is not None and (estimator or has_formula):
        estimator = estimator or quick_estimator(plan, model, rows.lengths, traits)
        can_recompute = not (recipe.gradient_checkpointing_kwargs or {}).get("use_reentrant")
        plan = fit(plan, estimator, len(rows.lengths), traits.saves_from_own_memory, can_recompute)
    work = replace(model.work, precision=plan.execution.precision.value)
    work = describe_work(recipe, work, rows.lengths, plan.batches.pad_lengths.value, plan.batches.batch_size.value)
    work = replace(work, recomputes=work.trains and plan.memory.activations.value == RECOMPUTED)
    capacities = choose_capacities(plan, rows.lengths)
    return plan.changed(
        guards=choose_guards(work, traits),
        compiled=choose_compiling(recipe, plan.execution.precision.value, plan.execution.step.value),
        capacities=capacities,
        target_capacities=choose_target_capacities(plan, capacities.value, rows),
    )


def _as_asked(
    recipe: Recipe, machine: Machine, task: TaskFacts, model: ModelFacts, rows: Rows, cache_bytes: int
) -> Plan:
    """Without anything that only saves memory, and without what follows from that."""
    device = choose_device(recipe, machine)
    traits = machine.device(device.value)
    frozen = choose_frozen(recipe, model.layers)
    trained = choose_trained(recipe, model, traits.memory_bytes or machine.memory_bytes, task.reads)
    facts = JobFacts(
        1 if rows.lengths is None else len(rows.lengths),
        task.outputs,
        model.hidden_size or 768,
        head_only=frozen.value == CORE,
        language=task.reads == "targets",
        adapters=trained.value == ADAPTERS,
    )
    shards = choose_shards(recipe, machine, traits)
    budget = choose_budget(recipe, traits, machine.local_processes)
    batch, rate = choose_batch_size(recipe, facts, machine.processes), choose_learning_rate(recipe, facts)
    precision = choose_precision(recipe, traits)
    longest = max((int(lengths.max()) for lengths in rows.splits()), default=1)
    layout = choose_layout(recipe, model, traits, precision.value, longest, rows.pads_left)
    batching = choose_batching(recipe, traits, layout.value)
    max_length = choose_max_length(recipe, model.longest_input, rows)
    padding = choose_pad_lengths(recipe, traits, rows, batch.value, max_length.value, layout.value, batching.value)
    # By what was asked for: how memory is saved must not change which rows are trained on.
    drop_last = asked_rows(recipe, batch.value) if recipe.dataloader_drop_last else 0
    steps_per_epoch = steps_in_epoch(facts.rows, batch.value, drop_last)
    schedule = choose_schedule(recipe, task, choose_epochs(recipe, facts), steps_per_epoch, rows.has_validation)
    work = replace(model.work, precision=precision.value)
    asked = describe_work(recipe, work, rows.lengths, padding.value, batch.value)
    return Plan.of(
        device=device,
        precision=precision,
        max_length=max_length,
        batch_size=batch,
        micro_batch=choose_micro_batch(recipe, batch.value, asked, traits, shards.value or machine.processes),
        micro_tokens=choose_micro_tokens(model, traits, frozen.value),
        **_roomy(recipe),
        budget=budget,
        batching=batching,
        layout=layout,
        pad_lengths=padding,
        last_layer=choose_last_layer(model, rows.pads_left, task.reads),
        word_vectors=choose_word_vectors(recipe, rows.words, frozen.value, task.reads, trained.value),
        trained=trained,
        kept=choose_kept(recipe, model, trained.value, precision.value, budget.value),
        frozen=frozen,
        states=choose_states(recipe, model, frozen.value, rows, cache_bytes, task.reads),
        step=choose_step(
            recipe,
            traits,
            precision.value,
            layout.value,
            schedule["steps"].value,
            frozen.value,
            shards.value,
            machine.processes,
        ),
        processes=choose_processes(machine),
        weights=choose_weights(recipe, machine, traits, task.reads),
        shards=shards,
        compiled=Choice(NEVER, ""),
        capacities=NO_CAPACITIES,
        learning_rate=rate,
        head_learning_rate=choose_head_rate(recipe, facts, rate.value),
        guards=NO_GUARDS,
        order_seed=recipe.order_seed,
        drop_last=drop_last,
        attention=safe_attention(traits.mac, work),
        **schedule,
        **_settings(recipe),
    )


def _roomy(recipe: Recipe) -> dict[str, Choice[Any]]:
    """What is done where memory is no concern."""
    activations: Choice[Any] = Choice(KEPT, "they fit")
    if recipe.gradient_checkpointing:
        slower = "about a third slower, with the same gradient"
        activations = Choice(RECOMPUTED, f"set by --gradient_checkpointing; {slower}")
    return {
        "activations": activations,
        "updates": Choice(AFTER_BACKWARD, "the whole gradient is known before it is used"),
        "saving": Choice(BESIDE, "from a copy, while the next steps run"),
        "needed": Choice(0, "not known for this kind of model"),
    }


def _settings(recipe: Recipe) -> dict[str, Any]:
    """What the user alone decides."""
    given = {name: getattr(recipe, name) for name in _SETTINGS - {"greater_is_better"}}
    return given | {
        "save_minutes": recipe.save_minutes if recipe.save_strategy is None else 0.0,
        "save_total_limit": recipe.save_total_limit or 1,
        "torch_empty_cache_steps": recipe.torch_empty_cache_steps or 0,
    }
