"""Pippin's side, through `pippin.train`, `pippin.load` and the events of a run."""

from __future__ import annotations

import json
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from job import Job
from rows import read


def settings_of(job: Job) -> dict[str, Any]:
    """A job's settings; naming do_train means Hugging Face's defaults for all that is left out."""
    columns = ("text",) if read(job.train).pairs is None else ("text", "pair")
    length = {"max_steps": job.steps} if job.steps else {"num_train_epochs": job.epochs}
    test = {"do_eval": True, "validation_file": str(job.test)} if job.test else {}
    return {
        "do_train": True,
        "train_file": str(job.train),
        "text_column": columns,
        "label_column": "label",
        "model_name_or_path": job.model,
        "per_device_train_batch_size": job.batch,
        "learning_rate": job.rate,
        "max_seq_length": job.max_length,
        "seed": job.seed,
        **length,
        **test,
    }


def train(job: Job, folder: Path | None = None, **flags: Any) -> dict[str, Any]:
    """Train as the job says; the folder of the run stays if one is named."""
    import pippin

    rows = len(read(job.train))
    with tempfile.TemporaryDirectory() as scratch:
        out = folder or Path(scratch, "run")
        start = time.perf_counter()
        report = pippin.train(
            output_dir=str(out), quiet=True, logging_steps=job.timed_after(rows), **settings_of(job), **flags
        )
        seconds = time.perf_counter() - start
        timed = times_of(out / "events.jsonl", job, rows)
    return {
        **job.speed(rows, *timed),
        "train_seconds": report.results["train_runtime"],
        "call_seconds": seconds,
        "loss": report.results["train_loss"],
        "accuracy": report.results.get("eval_accuracy"),
    }


def train_compiled(job: Job, **flags: Any) -> dict[str, Any]:
    """Train as a job does that is long enough to be compiled: after the first steps, whatever that costs."""
    from pippin.engine.steps import compiled as compiling

    compiling._COSTS = 0.0
    return train(job, torch_compile=True, **flags)


def train_after_a_first(first: Job, job: Job, **flags: Any) -> dict[str, Any]:
    """Train a second job in one process, so that imports and first calls are not in its time."""
    train(first, **flags)
    return train(job, **flags)


def evaluate(job: Job, rows: Path, batch: int, **flags: Any) -> dict[str, Any]:
    """Speed of an evaluation of pre-tokenised rows with a model as it is, by Pippin's own result."""
    import pippin

    settings = settings_of(job)
    with tempfile.TemporaryDirectory() as scratch:
        report = pippin.train(
            do_eval=True, validation_file=str(rows), output_dir=scratch + "/run", quiet=True,
            per_device_eval_batch_size=batch, max_seq_length=job.max_length,
            **{name: settings[name] for name in ("model_name_or_path", "text_column", "label_column", "train_file")},
            **flags,
        )  # fmt: skip
    results = report.results
    return {"samples_per_second": results["eval_samples_per_second"], "accuracy": results["eval_accuracy"]}


def predict(folder: str, rows: Path, **options: Any) -> dict[str, Any]:
    """Label the texts of a file with a trained model, tokenising included."""
    import pippin

    found = read(rows)
    predictor = pippin.load(folder, **options)
    first = found.at(list(range(min(32, len(found)))))
    predictor.predict(first.texts, first.pairs)
    start = time.perf_counter()
    answers = predictor.predict(found.texts, found.pairs)
    seconds = time.perf_counter() - start
    return {
        "samples_per_second": len(found) / seconds,
        "labels": [answer.label for answer in answers],
        "scores": [float(answer.score) for answer in answers],
    }


def times_of(path: Path, job: Job, rows: int) -> tuple[float, float, float]:
    """When training started, and when half of its steps and the last were done; Pippin waits for the device to log."""
    with path.open(encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    started = next(event for event in events if event["event"] == "started")
    steps = {event["step"]: event for event in events if event["event"] == "log"}
    wanted = (started, steps[job.timed_after(rows)], steps[job.total_steps(rows)])
    start, half, end = (datetime.fromisoformat(event["time"]).timestamp() for event in wanted)
    return start, half, end
