"""The largest batch, among powers of two, whose training step fits into memory at once.

On a GPU steps are run in batches of doubled size until the next would not fit: by what the last two took, so that a
computer whose memory the GPU shares is not brought to its end. The CPU's memory is everybody's, so there nothing is
tried: the plan's estimate answers.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from pippin.commands.bench.results import HEAD_ONLY, TRAINING, Largest
from pippin.commands.bench.schedule import Stopwatch
from pippin.commands.bench.subject import Subject
from pippin.commands.bench.watch import watching
from pippin.commands.planning import PlannedJob
from pippin.engine.memory import unless_it_is_too_much
from pippin.engine.session import Session
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.plan.frozen import CORE
from pippin.plan.layout import FIRST_TOKENS
from pippin.plan.memory import StepSize, estimate
from pippin.plan.plan import Choice
from pippin.text import memory

#: Nobody trains with more rows at once.
CAP = 4096
_FIRST = 8
#: A step that takes longer is the last: the search is for memory, not for patience.
_LONGEST_STEP = 5.0


def largest_batch(subject: Subject, device: str, length: int, head_only: bool, clock: Stopwatch) -> Largest:
    """With rows of so many tokens."""
    rows = subject.job.rows.train
    assert rows is not None
    settings = {"per_device_train_batch_size": _FIRST, "max_steps": 2, "freeze": CORE if head_only else None}
    job = subject.planned(device, len(rows), **settings)  # all, since word vectors of other rows are not trained
    is_gpu = get_backend(device).traits.is_gpu
    batch, why = _tried(subject, job, length, clock) if is_gpu else _estimated(job, length, head_only)
    return Largest(HEAD_ONLY if head_only else TRAINING, device, batch, why)


def _estimated(job: PlannedJob, length: int, head_only: bool) -> tuple[int, str]:
    backend, plan = get_backend(job.plan.execution.device.value), job.plan
    size, budget, traits = job.facts.size, backend.memory_budget(), backend.traits
    if size is None or not budget:
        return 0, "unknown for this kind of model or machine"

    def needed(rows: int) -> int:
        step = StepSize(
            rows=rows,
            tokens=rows * length,
            pairs=rows * length**2,
            keeps_scores=traits.keeps_scores == "always" or size.attention_dropout > 0,
            mask_bytes=traits.mask_bytes,
            first_tokens=plan.execution.last_layer.value == FIRST_TOKENS,
            trained_words=plan.execution.word_vectors.value,
            frozen_layers=size.layers if head_only else None,
            held=backend.memory_now() or 0,
        )
        return estimate(size, step).total

    rows = 1
    while 2 * rows <= CAP and needed(2 * rows) <= budget:
        rows *= 2
    if needed(rows) > budget:
        return 0, f"estimate: a single row needs {memory(needed(1))}, and {memory(budget)} is free"
    if rows == CAP:
        return rows, "estimate; larger batches were not considered"
    return rows, f"estimate: {2 * rows:,} rows need {memory(needed(2 * rows))}, and {memory(budget)} is free"


def _tried(subject: Subject, job: PlannedJob, length: int, clock: Stopwatch) -> tuple[int, str]:
    plan = job.plan.changed(capacities=Choice((), "each batch has a size of its own"))
    backend = get_backend(plan.execution.device.value)
    budget = backend.memory_budget()
    encoded = subject.rows_of_length(_FIRST, length)
    fitting, before, last = 0, 0, 0
    try:
        session = Session(plan, job.data.task, job.rows, partial(subject.load, job.recipe, job.config))
    except PippinError as error:
        return 0, str(error)
    step = session.step
    assert step is not None
    session.model.train()

    def run_step(rows: int) -> bool:
        try:
            step.gradients([step.collate(encoded, np.resize(np.arange(_FIRST), rows))])
            if rows == _FIRST:
                step.update()  # the optimiser's state is part of it
        finally:
            step.undo()
        return True

    rows = _FIRST
    with backend.own_stream():
        while rows <= CAP:
            expected = last + 2 * (last - before) if before else 0
            if budget and expected > budget:
                return fitting, f"{rows:,} rows would need about {memory(expected)} of {memory(budget)}"
            start = clock.now()
            held = backend.memory_now() or 0
            with watching(backend) as watched:
                fitted = unless_it_is_too_much(backend, partial(run_step, rows), less=lambda: True)
            if not fitted:
                return fitting, f"{rows:,} rows ran out of memory"
            fitting, before, last = rows, last, held + (watched.memory or 0)
            if clock.now() - start > _LONGEST_STEP:
                return fitting, "at least this: larger steps would take too long to try"
            rows *= 2
    return fitting, "at least this: larger batches were not tried"
