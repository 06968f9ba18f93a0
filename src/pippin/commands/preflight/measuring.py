"""One real step of a planned job in a process of its own: what it takes, and whether it survives.

The weights are random, so that none are loaded. That the process runs out of memory or dies is an answer.
"""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection

import numpy as np

from pippin.commands.planning import PlannedJob
from pippin.commands.preflight.answer import Measured
from pippin.commands.preflight.epoch import heaviest_step
from pippin.errors import PippinError

#: Steps before time is taken, since the first ones set things up, and steps over which it is.
_FIRST, _TIMED = 3, 3


def measured(job: PlannedJob) -> Measured:
    """The heaviest step of the first epoch."""
    context = get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    data = replace(job.data, train=None, validation={}, test={})  # no texts
    job = replace(job, data=data, tokenizer=None, rows=replace(job.rows, validation={}, test={}))
    process = context.Process(target=_report, args=(theirs, job))
    process.start()
    theirs.close()
    try:
        found = ours.recv()
    except EOFError:
        found = None
    process.join()
    return found or Measured(None, None, _why_dead(process.exitcode))


def _report(connection: Connection, job: PlannedJob) -> None:
    connection.send(run_steps(job))


def run_steps(job: PlannedJob) -> Measured:
    """Train a few steps on the heaviest batch; in a process where nothing else is held."""
    from pippin.engine.session import Session
    from pippin.models.skeleton import make_random

    less: list[str] = []
    try:
        make_model = partial(make_random, job.config, auto_model=job.data.task.auto_model)
        session = Session(job.plan, job.data.task, job.rows, make_model)
        backend, batch = session.backend, np.concatenate(heaviest_step(job))
        with backend.quick_arithmetic(), backend.watching_memory(), backend.own_stream():
            step = session.fitting(lambda event, **_: less.append(event))
            session.model.train()
            for number in range(1, _FIRST + _TIMED + 1):
                step(batch, number)
                if number == _FIRST:
                    backend.synchronize()
                    start = time.perf_counter()
            backend.synchronize()
            seconds = (time.perf_counter() - start) / _TIMED
            peak = backend.memory_peak()
    except (RuntimeError, MemoryError, PippinError) as error:
        return Measured(None, None, f"a step failed: {str(error).splitlines()[0]}")
    if less:
        return Measured(peak, seconds, f"it did not fit as planned, only in micro-batches of {step.micro_batch}")
    return Measured(peak, seconds)


def _why_dead(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        killed = ", as the system does to a process that takes too much memory" if name == "SIGKILL" else ""
        return f"the process of the step was killed by {name}{killed}"
    return f"the process of the step exited with code {code} and no result"
