"""Training of the head alone, with the core frozen: Pippin, which runs each row through the core once, and the Trainer.

    python benchmarks/speed/head_only.py DATA_FOLDER [--rows 1000] [--epochs 10] [--rounds 3]

DATA_FOLDER holds `trec/`. The time is that of a whole job: rows read and tokenised, model loaded, the core's features
computed, all epochs trained, the model saved. A small job of the same kind goes before in the same process, so that
imports are not in it. `train_seconds` are the libraries' own figures for the training proper. The Trainer leaves the
dropout of a frozen core on, as it does for its users.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import rows
import with_pippin
import with_trainer
from comparing import Way, chosen, compared, fresh, interleaved, recording, show
from job import Job
from model_folders import builtin_model


def ways_of(first: Job, job: Job) -> dict[str, Way]:
    trainer = partial(fresh, with_trainer.train_after_a_first, first, job, frozen_core=True)
    return {
        "trainer padded": partial(trainer, padding="max_length"),
        "trainer dynamic": partial(trainer, padding="longest"),
        "trainer grouped": partial(trainer, padding="longest", train_sampling_strategy="group_by_length"),
        # What the cache holds from the round before is made anew.
        "pippin": partial(fresh, pippin_then_evaluated, first, job, freeze="core", overwrite_cache=True),
    }


def pippin_then_evaluated(first: Job, job: Job, **flags: Any) -> dict[str, Any]:
    """The accuracy is that of a call afterwards: the Trainer's time has no evaluation in it either."""
    assert job.test is not None
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "run")
        with_pippin.train(first, **flags)
        figures = with_pippin.train(replace(job, test=None), folder, **flags)
        score = with_pippin.evaluate(replace(job, model=str(folder)), job.test, batch=256)
    return {**figures, "accuracy": score["accuracy"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1e-2, help="learning rate of the head")
    parser.add_argument("--model", default=None)
    parser.add_argument("--ways", default=None)
    parser.add_argument("--results", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    train, test = rows.trec(arguments.data / "trec")
    with tempfile.TemporaryDirectory() as scratch:
        drawn = train.sample(arguments.rows)
        job = Job(
            model=arguments.model or builtin_model(),
            train=drawn.write(Path(scratch, "rows.jsonl")),
            test=test.write(Path(scratch, "test.jsonl")),
            epochs=arguments.epochs,
            rate=arguments.rate,
        )
        first = replace(job, train=_first_rows(drawn).write(Path(scratch, "first.jsonl")), test=None, epochs=2)
        ways = chosen(ways_of(first, job), arguments.ways)
        found = interleaved(ways, arguments.rounds, say="call_seconds")
    figures = compared(found, ("trainer padded", "trainer dynamic"), "call_seconds", more_is_better=False)
    title = f"{arguments.rows} rows, {arguments.epochs} epochs"
    show(title, figures, "call_seconds", beside=("train_seconds", "accuracy", "loss"))
    asked = {"rows": arguments.rows, "epochs": arguments.epochs, "learning_rate": arguments.rate}
    print(recording.record("head_only", {**asked, **figures}, arguments.results))


def _first_rows(drawn: rows.Rows) -> rows.Rows:
    """A few rows of each class, so that the small job has the head of the large one."""
    places = {label: drawn.labels.index(label) for label in sorted(set(drawn.labels))}
    return drawn.at(list(places.values())).repeated(32)


if __name__ == "__main__":
    main()
