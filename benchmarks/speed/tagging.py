"""Speed of tagging: Pippin beside the Trainer as run_ner.py sets it up, and with the flags that make it faster.

    python benchmarks/speed/tagging.py wnut17/train.conll [--size bert-base] [--rounds 3]

Rows are words with a tag for each, in a CoNLL file. The Trainer gets them tokenised, which costs it less than the
`datasets` that run_ner.py reads. Without --size, the built-in model; with it, a BERT with random weights. Speed is that
of the second epoch: the Trainer's groups begin with the longest rows, so that a part of an epoch would flatter it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from comparing import Way, chosen, compared, fresh, interleaved, recording, show
from job import Job
from model_folders import SIZES, builtin_model, make_bert
from with_pippin import times_of
from with_trainer import timed_trainer

TRAINER: dict[str, dict[str, Any]] = {
    "trainer": {},
    "trainer grouped": {"train_sampling_strategy": "group_by_length"},
    "trainer bf16": {"bf16": True},
    "trainer bf16 grouped": {"bf16": True, "train_sampling_strategy": "group_by_length"},
}
PIPPIN: dict[str, dict[str, Any]] = {"pippin": {}, "pippin fp32": {"bf16": False}}


def rows_of(path: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Words and tags of each sentence."""
    from pippin.data.tables import read_table

    columns = read_table(path).columns
    return columns["tokens"], columns["tags"]


def with_trainer(job: Job, **flags: Any) -> dict[str, Any]:
    """As run_ner.py does it: the first token of each word has the word's tag, and batches are padded one by one."""
    from transformers import (
        AutoModelForTokenClassification,
        AutoTokenizer,
        DataCollatorForTokenClassification,
        set_seed,
    )

    set_seed(job.seed)
    tokenizer = AutoTokenizer.from_pretrained(job.model)
    words, tags = rows_of(job.train)
    names = sorted({tag for row in tags for tag in row})
    encoded = tokenizer(words, is_split_into_words=True, truncation=True, max_length=job.max_length)
    features = []
    for place, row in enumerate(tags):
        own = encoded.word_ids(place)
        first = [word is not None and word != before for before, word in zip([None, *own], own, strict=False)]
        labels = [names.index(row[word]) if is_first else -100 for word, is_first in zip(own, first, strict=True)]
        features.append({**{name: encoded[name][place] for name in encoded}, "labels": labels})
    model = AutoModelForTokenClassification.from_pretrained(job.model, num_labels=len(names)).float()
    collator = DataCollatorForTokenClassification(tokenizer)
    trainer, timed = timed_trainer(job, flags, features, model=model, data_collator=collator)
    outcome = trainer.train()
    return {**job.speed(len(features), *timed), "loss": outcome.training_loss}


def with_pippin(job: Job, **flags: Any) -> dict[str, Any]:
    import pippin

    rows = len(rows_of(job.train)[0])
    with tempfile.TemporaryDirectory() as scratch:
        start = time.perf_counter()
        report = pippin.train(
            job.train, do_train=True, task_name="ner", model_name_or_path=job.model, max_steps=job.steps or -1,
            num_train_epochs=job.epochs, seed=job.seed, per_device_train_batch_size=job.batch, learning_rate=job.rate,
            max_seq_length=job.max_length, output_dir=scratch + "/run", quiet=True,
            logging_steps=job.timed_after(rows), **flags,
        )  # fmt: skip
        seconds = time.perf_counter() - start
        timed = times_of(Path(scratch, "run", "events.jsonl"), job, rows)
    return {**job.speed(rows, *timed), "loss": report.results["train_loss"], "call_seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("train", type=Path)
    parser.add_argument("--model", default=None, help="a folder; by default the built-in one")
    parser.add_argument("--size", choices=SIZES, help="random weights in this size instead")
    parser.add_argument("--tokenizer", default=None)
    parser.add_argument("--steps", type=int, help="instead of two epochs, of which the second is timed")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", default=None)
    parser.add_argument("--name", default="tagging_speed")
    parser.add_argument("--results", type=Path, default=recording.RESULTS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        model = arguments.model or builtin_model() if not arguments.size else scratch
        if arguments.size:
            fresh(make_bert, Path(scratch), arguments.size, arguments.tokenizer, has_head=False)
        job = Job(model, arguments.train.resolve(), steps=arguments.steps, batch=arguments.batch)
        ways: dict[str, Way] = {name: partial(fresh, with_trainer, job, **flags) for name, flags in TRAINER.items()}
        ways |= {name: partial(fresh, with_pippin, job, **flags) for name, flags in PIPPIN.items()}
        found = interleaved(chosen(ways, arguments.ways), arguments.rounds)
    figures = compared(found, TRAINER)
    show(f"{arguments.train.parent.name}, batch {arguments.batch}", figures, beside=("loss",))
    figures = {
        "job": json.loads(json.dumps(replace(job, model=arguments.size or "built in").__dict__, default=str)),
        **figures,
    }
    print(recording.record(arguments.name, figures, arguments.results))


if __name__ == "__main__":
    main()
