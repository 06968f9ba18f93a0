"""What is done so that a job fits into the memory there is, cheapest first. None of it changes the gradient.

A checkpoint that is not written from a copy costs the time of writing it, and smaller micro-batches next to nothing.
Updates in the backward pass cost nothing either, but are possible only where no step has to know the whole gradient.
Computing activations a second time costs about a third.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pippin.data.batches import padded_lengths, rows_at_once, training_order
from pippin.machine.traits import DeviceTraits
from pippin.models.facts import ModelFacts, ModelSize
from pippin.plan.frozen import NOTHING, frozen_layers
from pippin.plan.layout import FIRST_TOKENS, PACKED
from pippin.plan.memory import Estimate, StepSize, estimate
from pippin.plan.plan import Choice, Plan
from pippin.plan.sharing import SPREAD, gradient_sums
from pippin.plan.steps import CAPTURED, EAGER
from pippin.recipe import Recipe
from pippin.text import memory

KEPT: Final = "kept"
RECOMPUTED: Final = "recomputed"
BESIDE: Final = "beside the steps"
BETWEEN: Final = "between steps"
AFTER_BACKWARD: Final = "after backward"
IN_BACKWARD: Final = "in backward"
#: Batches of an epoch that are looked at: the heaviest.
_HEAVIEST = 16
#: Micro-batches of a batch that are looked at: likewise.
_MOST_PARTS = 256
#: Up to so many rows every size of a part is tried; of more, each that is a tenth smaller than the one before.
_ALL_SIZES = 4096

#: The memory of the heaviest step of a plan, whose capacities need not be planned yet.
Estimator = Callable[[Plan], Estimate]


@dataclass(frozen=True)
class _Measures:
    """All that can be done otherwise where memory is short."""

    rows: int
    tokens: int
    captured: bool
    recomputes: bool
    in_backward: bool = False
    copies_state: bool = False


def choose_budget(recipe: Recipe, traits: DeviceTraits, processes: int = 1) -> Choice[int]:
    """Bytes that this process may hold, where there are so many on the computer; 0 where nobody knows."""
    if recipe.memory_limit is not None:
        return Choice(int(recipe.memory_limit * 2**30), "set by --memory_limit")
    # A graphics card has memory of its own; all others share the computer's.
    is_shared = processes > 1 and (traits.mac is not None or not traits.is_gpu)
    parts, each = (processes, f" for each of {processes} processes") if is_shared else (1, "")
    if traits.budget_bytes is not None:
        return Choice(traits.budget_bytes // parts, "what is free" + each)
    if traits.memory_bytes is not None:  # of a machine that is described without what is free there
        return Choice(traits.memory_bytes // parts, "all of its memory" + each)
    return Choice(0, "this device does not say")


def choose_micro_tokens(model: ModelFacts, traits: DeviceTraits, frozen: str) -> Choice[int]:
    """As many at once as make the device fast, where more would only take memory; 0: any number."""
    elements = traits.full_speed_elements if traits.shape_limit is None else None  # other sizes are other shapes
    trains_tokens = frozen == NOTHING or (_frozen_layers(model, frozen) or 0) < (model.layers or 0)
    if not (elements and model.size and trains_tokens):
        return Choice(0, "any number")
    return Choice(elements // model.size.width, "more would be no faster and use more memory")


def fit(plan: Plan, estimator: Estimator, rows: int, copies_state: bool, can_recompute: bool) -> Plan:
    """With the cheapest measures with which it fits; where none does, those that take the least.

    ``plan`` does nothing for memory but what was asked. There are so many training rows. ``copies_state``: whether
    checkpoints are written from a copy in the same memory.
    """
    budget = plan.memory.budget.value
    asked = _Measures(
        plan.batches.micro_batch.value,
        plan.batches.micro_tokens.value,
        captured=plan.execution.step.value == CAPTURED,
        recomputes=plan.memory.activations.value == RECOMPUTED,
        copies_state=copies_state,
    )
    need = wanted = estimator(plan)
    least, chosen = wanted.total, asked

    def fits(measures: _Measures) -> bool:
        nonlocal need, least, chosen
        found = estimator(_with(plan, asked, measures, wanted.total))
        if found.total < least or found.total <= budget:
            need, least, chosen = found, found.total, measures
        return found.total <= budget

    if budget and wanted.total > budget:
        for series in _cheapest_first(plan, asked, rows, can_recompute):
            if series != [asked] and fits(series[-1]):
                # The memory of a series falls with its rows: the first that fits is found by halving.
                low, high = 0, len(series) - 1
                while low < high:
                    middle = (low + high) // 2
                    low, high = (low, middle) if fits(series[middle]) else (middle + 1, high)
                break
    return _with(plan, asked, chosen, wanted.total).changed(needed=describe_memory(need, budget))


def describe_memory(need: Estimate, budget: int) -> Choice[int]:
    """An estimate, and whether it is within the budget."""
    large = sorted(need.parts.items(), key=lambda part: -part[1])[:4]
    parts = ", ".join(f"{name} {memory(size)}" for name, size in large if size)
    if not budget:
        return Choice(need.total, f"about {memory(need.total)}: {parts}")
    if need.total <= budget:
        return Choice(need.total, f"fits: about {memory(need.total)} of {memory(budget)} ({parts})")
    return Choice(
        need.total, f"does not fit: needs about {memory(need.total)}, and {memory(budget)} is available ({parts})"
    )


def _cheapest_first(plan: Plan, asked: _Measures, rows: int, can_recompute: bool) -> Iterator[list[_Measures]]:
    """All that can be done, in the order of what it costs in time: series of measures with ever fewer rows."""
    batch, first = plan.batches.batch_size.value, replace(asked, copies_state=False)
    # More rows than there are can be asked for, and there are only so many to divide.
    smaller = _parts_of(min(first.rows, rows))
    for captured in {first.captured: 0, False: 0}:
        each = replace(first, captured=captured)
        if not captured or batch % first.rows == 0:  # recorded steps want parts of one size
            yield [each]
        if fewer := [replace(each, rows=size) for size in smaller if not captured or batch % size == 0]:
            yield fewer
    plain = replace(first, captured=False)
    at_once = replace(plain, rows=batch, tokens=0, in_backward=True)
    # Clipping and the loss scaler need the whole gradient, and so does a sum over micro-batches or processes.
    alone = first.rows == batch and not plan.rates.max_grad_norm and plan.execution.precision.value != "fp16"
    alone = alone and not gradient_sums(plan)
    if alone:
        yield [at_once]
    if first.recomputes or not can_recompute:
        return
    again = replace(plain, recomputes=True)
    yield [again]
    if smaller:
        yield [replace(again, rows=size) for size in smaller]
    if alone:
        yield [replace(at_once, recomputes=True)]


def _with(plan: Plan, asked: _Measures, chosen: _Measures, wanted: int) -> Plan:
    """The plan with measures in place of those that were asked for, which would have needed so much."""
    changes: dict[str, Choice] = {}
    too_much = f"otherwise it would need about {memory(wanted)}"
    if chosen.rows != asked.rows:
        same = "their gradients add up to the whole batch's"
        changes["micro_batch"] = Choice(chosen.rows, f"not {asked.rows}: {too_much}; {same}")
    if chosen.tokens != asked.tokens:
        changes["micro_tokens"] = Choice(chosen.tokens, "any number")
    if chosen.recomputes and not asked.recomputes:
        changes["activations"] = Choice(RECOMPUTED, f"{too_much}; about a third slower, with the same gradient")
    if chosen.in_backward:
        changes["updates"] = Choice(IN_BACKWARD, f"each gradient is applied and freed at once: {too_much}")
    if asked.captured and not chosen.captured:
        changes["step"] = Choice(EAGER, f"recorded steps hold extra memory: {too_much}")
    if asked.copies_state and not chosen.copies_state:
        changes["saving"] = Choice(BETWEEN, f"no room for a copy: {too_much}")
    return plan.changed(**changes)


def _parts_of(whole: int) -> list[int]:
    """The sizes of equal parts of so many rows, from halves down to single ones, each once; of very many only some.

    >>> _parts_of(10)
    [5, 4, 3, 2, 1]
    """
    sizes, parts = list[int](), 2
    while parts <= whole:
        size = -(-whole // parts)
        if whole <= _ALL_SIZES or not sizes or size <= 0.9 * sizes[-1]:
            sizes.append(size)
        # The next number of parts with which they get smaller.
        parts = (whole - 1) // (size - 1) + 1 if size > 1 else whole + 1
    return sizes


def quick_estimator(plan: Plan, model: ModelFacts, lengths: np.ndarray, traits: DeviceTraits) -> Estimator:
    """By a formula of the model's sizes, for plans that differ from this one in measures alone."""
    size = model.size
    assert size is not None
    order = training_order(
        lengths, plan.batches.batch_size.value, plan.batches.batching.value, plan.batches.order_seed, epoch=0
    )
    padded = plan.execution.layout.value != PACKED
    tokens = [len(rows) * lengths[rows].max() if padded else lengths[rows].sum() for rows in order]
    heaviest = [
        padded_lengths(lengths[order[place]], plan.batches.pad_lengths.value)
        for place in np.argsort(tokens)[-_HEAVIEST:]
    ]

    def quick(plan: Plan) -> Estimate:
        found = []
        for widths in heaviest:
            at_once = rows_at_once(widths, plan.batches.micro_batch.value, plan.batches.micro_tokens.value)
            starts = np.arange(0, len(widths), at_once)
            count = len(starts)
            if count > _MOST_PARTS:
                starts = starts[np.argsort(np.add.reduceat(widths.astype(np.int64) ** 2, starts))[-_MOST_PARTS:]]
            for start in starts:
                step = _step(plan, model, size, traits, widths[start : start + at_once], count)
                found.append(estimate(size, step))
        return max(found, key=lambda each: each.total)

    return quick


def _step(
    plan: Plan, model: ModelFacts, size: ModelSize, traits: DeviceTraits, widths: np.ndarray, parts: int
) -> StepSize:
    if plan.execution.layout.value != PACKED:
        widths = np.full(len(widths), widths.max())
    keeps = traits.keeps_scores
    return StepSize(
        rows=len(widths),
        tokens=int(widths.sum()),
        pairs=int((widths.astype(np.int64) ** 2).sum()),
        micro_batches=parts,
        mixed=plan.execution.precision.value in ("bf16", "fp16"),
        keeps_scores=keeps == "always" or (keeps == "with dropout" and size.attention_dropout > 0),
        mask_bytes=traits.mask_bytes,
        first_tokens=plan.execution.last_layer.value == FIRST_TOKENS,
        trained_words=plan.execution.word_vectors.value,
        frozen_layers=_frozen_layers(model, plan.execution.frozen.value),
        recomputes=plan.memory.activations.value == RECOMPUTED,
        captured=plan.execution.step.value == CAPTURED,
        updates_in_backward=plan.memory.updates.value == IN_BACKWARD,
        optimiser=plan.rates.optim,
        half_state=plan.rates.optim_state == "bf16",
        copies_state=traits.saves_from_own_memory and plan.memory.saving.value == BESIDE,
        held=traits.held_bytes + traits.own_memory_bytes,
        gradient_sums=gradient_sums(plan),
        spread_over=plan.execution.processes.value if plan.execution.weights.value == SPREAD else 1,
    )


def _frozen_layers(model: ModelFacts, frozen: str) -> int | None:
    """The lowest layers that are not trained; None where all are, and the embeddings too."""
    if frozen == NOTHING:
        return None
    layers = frozen_layers(frozen)
    return model.layers or 0 if layers is None else layers
