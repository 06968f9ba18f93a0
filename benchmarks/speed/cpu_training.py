"""Training speed on the CPU: Pippin beside Hugging Face's Trainer with its defaults and with its best flags.

    python benchmarks/speed/cpu_training.py DATA_FOLDER [--sets trec,mrpc] [--rows 1024] [--rounds 3]

DATA_FOLDER holds `trec/` and `glue/MRPC/`. All train the built-in model on the same rows, drawn once at random, for two
epochs at batch 32 with run_glue.py's other defaults; samples per second are those of the whole second epoch. Whole
epochs, since the Trainer's grouped sampler puts its longest batches first, so that a shorter look at it is unfair. The
accuracy beside the speed is that on the test questions (TREC) or the development pairs (MRPC).
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import rows
import with_pippin
import with_trainer
from comparing import Way, chosen, compared, fresh, interleaved, recording, show
from job import Job
from model_folders import builtin_model

TRAINER: dict[str, dict[str, Any]] = {
    "trainer padded": {"padding": "max_length"},
    "trainer dynamic": {"padding": "longest"},
    "trainer grouped": {"padding": "longest", "train_sampling_strategy": "group_by_length"},
}
#: In random order Pippin makes up its batches as the Trainer does by default.
PIPPIN: dict[str, dict[str, Any]] = {"pippin": {}, "pippin random": {"train_sampling_strategy": "random"}}


def ways_of(job: Job) -> dict[str, Way]:
    return {
        **{name: partial(fresh, with_trainer.train, job, **flags) for name, flags in TRAINER.items()},
        **{name: partial(fresh, with_pippin.train, job, **flags) for name, flags in PIPPIN.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default="trec,mrpc")
    parser.add_argument("--rows", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", default=None)
    parser.add_argument("--ways", default=None, help=f"of {', '.join([*TRAINER, *PIPPIN])}")
    parser.add_argument("--results", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    figures = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, (train, test) in rows.find(arguments.data, arguments.sets).items():
            job = Job(
                model=arguments.model or builtin_model(),
                train=train.sample(arguments.rows).write(Path(scratch, f"{name}.jsonl")),
                test=test.write(Path(scratch, f"{name}-test.jsonl")),
            )
            found = interleaved(chosen(ways_of(job), arguments.ways), arguments.rounds)
            figures[name] = compared(found, ("trainer padded", "trainer grouped"))
            show(f"{name}, {arguments.rows} rows", figures[name], beside=("accuracy", "loss"))
    print(recording.record("cpu_training", {"rows": arguments.rows, **figures}, arguments.results))


if __name__ == "__main__":
    main()
