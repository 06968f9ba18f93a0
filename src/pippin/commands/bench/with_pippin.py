"""One pass of training with Pippin, as `pippin train` does it, without a run's folder."""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pippin.commands.bench.results import Setting
from pippin.commands.bench.subject import Subject
from pippin.commands.bench.training import Pass, Passed
from pippin.engine.session import Session
from pippin.plan.frozen import CORE
from pippin.runs.events import Events
from pippin.runs.folder import RunFolder
from pippin.runs.saving import Saver


def train(subject: Subject, setting: Setting, asked: Pass) -> Passed:
    """Train a fresh model and take the times; Pippin waits for the device whenever it logs."""
    job = subject.planned(
        setting.device,
        asked.rows,
        per_device_train_batch_size=setting.batch,
        num_train_epochs=asked.epochs,
        max_steps=asked.steps or -1,
        freeze=CORE if asked.head_only else None,
        bf16=setting.precision == "bf16",
        logging_steps=0.5,  # of all steps
    )
    steps, half = job.plan.schedule.steps.value, job.plan.schedule.logging_steps.value
    times: dict[int, float] = {}
    smaller: list[int] = []

    def listen(name: str, figures: dict[str, Any]) -> None:
        if name in ("started", "log"):
            times[figures.get("step", 0)] = time.perf_counter()
        elif name == "smaller_batches":
            smaller.append(figures["rows"])

    with TemporaryDirectory() as scratch:
        session = Session(job.plan, job.data.task, job.rows, partial(subject.load, job.recipe, job.config))
        events = Events(Path(scratch, "events.jsonl"), listen)
        saver = Saver(RunFolder(Path(scratch)), events, session.model, job.tokenizer, job.plan)
        assert job.data.train is not None
        with closing(events), closing(saver), session.backend.quick_arithmetic():
            outcome = session.train(job.data.train, events.emit, saver)
        score = None
        if asked.judged and job.rows.validation:
            first = next(iter(session.evaluate_all().values()))
            score = first.metrics[job.data.task.main_metric]
    note = f"ran out of memory, so batches were split into {smaller[-1]} rows" if smaller else ""
    after_half = outcome.rows_seen - rows_of(half, setting.batch, asked.rows)
    return Passed(times[0], times[half], times[steps], outcome.rows_seen, after_half, score, note)


def rows_of(steps: int, batch: int, rows: int) -> int:
    """Rows of the first steps; an epoch's last batch may be short."""
    an_epoch = -(-rows // batch)
    epochs, rest = divmod(steps, an_epoch)
    return epochs * rows + min(rest * batch, rows)
