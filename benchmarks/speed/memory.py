"""Memory of training BERT-base at batch 32 with rows of 128 tokens: the Trainer beside Pippin, speed beside memory.

    python benchmarks/speed/memory.py [--steps 6] [--rounds 2] [--tokens 128]

Random weights in BERT-base's size: only sizes matter. Peak resident memory of fresh processes, libraries included, and
samples per second over the second half of the steps. `trainer accumulated` and `trainer checkpointing` are the flags
that a user of the Trainer can set for less.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path

import rows
import with_pippin
import with_trainer
from comparing import Way, chosen, compared, fresh, interleaved, recording, show
from job import Job
from model_folders import SIZES, make_bert


def ways_of(job: Job) -> dict[str, Way]:
    trainer = partial(fresh, with_trainer.train, job)
    return {
        "trainer": trainer,
        "trainer accumulated": partial(trainer, micro_batch=max(1, job.batch // 4)),
        "trainer checkpointing": partial(trainer, gradient_checkpointing=True),
        "pippin": partial(fresh, with_pippin.train, job),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--size", default="bert-base", choices=SIZES)
    parser.add_argument("--ways", default=None)
    parser.add_argument("--results", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        model = fresh(make_bert, Path(scratch, "model"), arguments.size)["model"]
        # As many words as tokens, so that with the marks every row is cut to the full length.
        texts = rows.made_up(arguments.steps * arguments.batch, arguments.tokens)
        file = texts.write(Path(scratch, "rows.jsonl"))
        job = Job(model, file, steps=arguments.steps, batch=arguments.batch, max_length=arguments.tokens)
        found = interleaved(chosen(ways_of(job), arguments.ways), arguments.rounds, "peak_resident_bytes")
    memory = compared(found, ("trainer",), "peak_resident_bytes", more_is_better=False)
    show("peak resident bytes", memory, "peak_resident_bytes", beside=("samples_per_second",))
    speed = compared(found, ("trainer",))
    show("samples per second", speed)
    asked = {"size": arguments.size, "batch": arguments.batch, "tokens": arguments.tokens, "steps": arguments.steps}
    print(recording.record("memory", {**asked, "memory": memory, "speed": speed}, arguments.results))


if __name__ == "__main__":
    main()
