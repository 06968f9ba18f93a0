"""What is done so that a job fits into the memory there is, cheapest first. None of it changes the gradient.

A checkpoint that is not written from a copy costs the time of writing it, and smaller micro-batches next to nothing.
Updates in the backward pass cost nothing either, but are possible only where no step has to know the whole gradient.
Computing activations a second time costs about a third.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pippin.data.batches import padded_lengths, rows_at_once, training_order
from pippin.machine.check import gigabytes
from pippin.machine.drivers import get_backend
from pippin.plan.layout import FIRST_TOKENS, PACKED
from pippin.plan.memory import Estimate, ModelSize, StepSize, estimate, size_of
from pippin.plan.plan import Choice
from pippin.plan.steps import CAPTURED, EAGER
from pippin.recipe import Recipe

KEPT, RECOMPUTED = "kept", "recomputed"
BESIDE, BETWEEN = "beside the steps", "between steps"
AFTER_BACKWARD, IN_BACKWARD = "after backward", "in backward"
#: Batches of an epoch that are looked at: the heaviest.
_HEAVIEST = 16
#: Micro-batches of a batch that are looked at: likewise.
_MOST_PARTS = 256
#: Up to so many rows every size of a part is tried; of more, each that is a tenth smaller than the one before.
_ALL_SIZES = 4096
_UNKNOWN: Choice[int] = Choice(0, "not known for this kind of model")


@dataclass(frozen=True)
class Fit:
    """The choices of a plan that decide its memory."""

    micro_batch: Choice[int]
    micro_tokens: Choice[int]
    activations: Choice[str]
    updates: Choice[str]
    saving: Choice[str]
    step: Choice[str]
    memory: Choice[int]


@dataclass(frozen=True)
class MemoryJob:
    """What is known of a job before its memory is looked at."""

    recipe: Recipe
    config: Any
    device: str
    precision: str
    layout: str
    last_layer: str
    batching: str
    pad_lengths: tuple[int, ...]
    lengths: np.ndarray | None
    """Of the training rows; None where nothing is trained."""
    batch: int
    word_vectors: int
    frozen_layers: int | None
    outputs: int

    @property
    def trains_tokens(self) -> bool:
        """Whether more of the model is trained than what reads one vector for each row."""
        return self.frozen_layers is None or self.frozen_layers < getattr(self.config, "num_hidden_layers", 0)


@dataclass(frozen=True)
class _Measures:
    rows: int
    tokens: int
    captured: bool
    recomputes: bool
    in_backward: bool = False
    copies_state: bool = False


def choose_budget(recipe: Recipe, device: str) -> Choice[int]:
    """Bytes that the job may hold; 0 where nobody knows."""
    if recipe.memory_limit is not None:
        return Choice(int(recipe.memory_limit * 2**30), "asked for by --memory_limit")
    budget = get_backend(device).memory_budget()
    if budget is None:
        return Choice(0, "this device does not tell")
    return Choice(budget, "what is free for it")


def choose_fit(job: MemoryJob, asked: Choice[int], step: Choice[str], budget: int) -> Fit:
    """The cheapest measures with which the job fits; where none does, those that take the least."""
    size = size_of(job.config, job.outputs)
    backend = get_backend(job.device)
    numbers = backend.enough_numbers if backend.shape_limit is None else None  # parts of other sizes are other shapes
    enough = numbers // size.width if numbers and size and job.trains_tokens else 0
    first = _Measures(
        asked.value,
        enough,
        captured=step.value == CAPTURED,
        recomputes=job.recipe.gradient_checkpointing,
        copies_state=backend.saves_from_own_memory,
    )
    if size is None or job.lengths is None:
        return _fit(job, asked, step, first, first, _UNKNOWN, 0)
    heaviest = _heaviest(job)
    found = [(first, _needed(job, size, first, heaviest))]
    for measures in _cheapest_first(job, first):
        if not budget or found[-1][1].total <= budget:
            break
        found.append((measures, _needed(job, size, measures, heaviest)))
    measures, need = found[-1] if not budget or found[-1][1].total <= budget else min(found, key=lambda f: f[1].total)
    return _fit(job, asked, step, first, measures, _memory(need, budget), found[0][1].total)


def _cheapest_first(job: MemoryJob, first: _Measures) -> Iterator[_Measures]:
    """All that can be done, in the order of what it costs in time."""
    assert job.lengths is not None
    whole = first.rows
    # More rows than there are can be asked for, and there are only so many to divide.
    smaller = _parts_of(min(whole, len(job.lengths)))
    first = replace(first, copies_state=False)
    for captured in {first.captured: 0, False: 0}:
        for rows in (whole, *smaller):
            if not captured or job.batch % rows == 0:  # recorded steps want parts of one size
                yield replace(first, rows=rows, captured=captured)
    plain = replace(first, captured=False)
    at_once = replace(plain, rows=job.batch, tokens=0, in_backward=True)
    # Clipping and the loss scaler need the whole gradient, and so does a sum over micro-batches.
    alone = whole == job.batch and not job.recipe.max_grad_norm and job.precision != "fp16"
    if alone:
        yield at_once
    if first.recomputes or not _can_recompute(job):
        return
    for rows in (whole, *smaller):
        yield replace(plain, rows=rows, recomputes=True)
    if alone:
        yield replace(at_once, recomputes=True)


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


def _can_recompute(job: MemoryJob) -> bool:
    return not (job.recipe.gradient_checkpointing_kwargs or {}).get("use_reentrant")


def _heaviest(job: MemoryJob) -> list[np.ndarray]:
    """The batches with the most tokens."""
    assert job.lengths is not None
    order = training_order(job.lengths, job.batch, job.batching, job.recipe.order_seed, epoch=0)
    padded = job.layout != PACKED
    tokens = [len(rows) * job.lengths[rows].max() if padded else job.lengths[rows].sum() for rows in order]
    return [order[place] for place in np.argsort(tokens)[-_HEAVIEST:]]


def _needed(job: MemoryJob, size: ModelSize, measures: _Measures, batches: list[np.ndarray]) -> Estimate:
    """The memory of the heaviest step."""
    assert job.lengths is not None
    found = []
    for rows in batches:
        widths = padded_lengths(job.lengths[rows], job.pad_lengths)
        at_once = rows_at_once(widths, measures.rows, measures.tokens)
        starts = np.arange(0, len(rows), at_once)
        count = len(starts)
        if count > _MOST_PARTS:
            starts = starts[np.argsort(np.add.reduceat(widths.astype(np.int64) ** 2, starts))[-_MOST_PARTS:]]
        steps = [_step(job, size, measures, widths[start : start + at_once], count) for start in starts]
        found += [estimate(size, each) for each in steps]
    return max(found, key=lambda each: each.total)


def _step(job: MemoryJob, size: ModelSize, measures: _Measures, widths: np.ndarray, parts: int) -> StepSize:
    backend = get_backend(job.device)
    if job.layout != PACKED:
        widths = np.full(len(widths), widths.max())
    keeps = backend.keeps_scores
    return StepSize(
        rows=len(widths),
        tokens=int(widths.sum()),
        pairs=int((widths.astype(np.int64) ** 2).sum()),
        micro_batches=parts,
        mixed=job.precision in ("bf16", "fp16"),
        keeps_scores=keeps == "always" or (keeps == "with dropout" and size.attention_dropout > 0),
        mask_bytes=backend.mask_bytes,
        first_tokens=job.last_layer == FIRST_TOKENS,
        trained_words=job.word_vectors,
        frozen_layers=job.frozen_layers,
        recomputes=measures.recomputes,
        captured=measures.captured,
        updates_in_backward=measures.in_backward,
        optimiser=job.recipe.optim,
        half_state=job.recipe.optim_state == "bf16",
        copies_state=measures.copies_state,
        held=(backend.memory_now() or 0) + backend.own_memory,
    )


def _words(size: int) -> str:
    return gigabytes(size) if size >= 2**30 else f"{round(size / 2**20)} MB"


def _memory(need: Estimate, budget: int) -> Choice[int]:
    large = sorted(need.parts.items(), key=lambda part: -part[1])[:4]
    parts = ", ".join(f"{name} {_words(size)}" for name, size in large if size)
    if not budget:
        return Choice(need.total, f"about {_words(need.total)}: {parts}")
    if need.total <= budget:
        return Choice(need.total, f"fits: about {_words(need.total)} of {_words(budget)} ({parts})")
    return Choice(
        need.total,
        f"does not fit: about {_words(need.total)} are needed, and there are {_words(budget)} ({parts})",
    )


def _fit(
    job: MemoryJob,
    asked: Choice[int],
    step: Choice[str],
    first: _Measures,
    chosen: _Measures,
    memory: Choice[int],
    wanted: int,
) -> Fit:
    too_much = f"else about {_words(wanted)} would be needed"
    micro_batch = asked
    if chosen.rows != first.rows:
        same = "together they give the whole batch's gradient"
        micro_batch = Choice(chosen.rows, f"not {first.rows}: {too_much}; {same}")
    activations = Choice(KEPT, "there is room for them")
    if chosen.recomputes:
        why = "asked for by --gradient_checkpointing" if first.recomputes else too_much
        activations = Choice(RECOMPUTED, f"{why}; about a third slower, with the same gradient")
    updates = Choice(AFTER_BACKWARD, "the whole gradient is known before it is used")
    if chosen.in_backward:
        updates = Choice(IN_BACKWARD, f"each gradient is used and freed as it comes: {too_much}")
    if chosen.recomputes and step.value == CAPTURED:
        step = Choice(EAGER, "recomputing draws its random numbers twice, which cannot be recorded")
    elif first.captured and not chosen.captured:
        step = Choice(EAGER, f"recorded steps keep memory of their own: {too_much}")
    tokens = Choice(chosen.tokens, "any number")
    if chosen.tokens:
        tokens = Choice(chosen.tokens, "about so many at once: more would be no faster, and take more memory")
    saving = Choice(BESIDE, "from a copy, while the next steps run")
    if first.copies_state and not chosen.copies_state:
        saving = Choice(BETWEEN, f"there is no room for a copy: {too_much}")
    return Fit(micro_batch, tokens, activations, updates, saving, step, memory)
