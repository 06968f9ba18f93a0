"""Hugging Face's side: the Trainer as run_glue.py uses it, and with the flags that its users can set.

Rows are plain lists, tokenised beforehand, which costs the Trainer less than the `datasets` that run_glue.py reads.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any, Literal

from job import Job
from rows import Rows, read

#: `max_length` is run_glue.py's default; `longest` pads each batch to its longest row.
Padding = Literal["max_length", "longest"]
Features = list[dict[str, Any]]


def train(
    job: Job,
    padding: Padding = "max_length",
    frozen_core: bool = False,
    folder: Path | None = None,
    micro_batch: int | None = None,
    **flags: Any,
) -> dict[str, Any]:
    """Train as the job says; the model is saved if a folder is named."""
    start = time.perf_counter()
    trainer, timed = _trainer(job, padding, frozen_core, micro_batch, flags)
    outcome = trainer.train()
    if folder:
        trainer.save_model(str(folder))
    seconds = time.perf_counter() - start
    return {
        **job.speed(len(trainer.train_dataset), *timed),
        "train_seconds": outcome.metrics["train_runtime"],
        "call_seconds": seconds,
        "loss": outcome.training_loss,
        "accuracy": trainer.evaluate()["eval_accuracy"] if job.test else None,
    }


def train_after_a_first(first: Job, job: Job, **settings: Any) -> dict[str, Any]:
    """Train a second job in one process, so that imports and first calls are not in its time."""
    train(first, **settings)
    with tempfile.TemporaryDirectory() as folder:
        return train(job, folder=Path(folder), **settings)


def evaluate(job: Job, rows: Path, batch: int, padding: Padding = "max_length", **flags: Any) -> dict[str, Any]:
    """Speed of an evaluation of pre-tokenised rows with a model as it is, by the Trainer's own result."""
    flags = {"per_device_eval_batch_size": batch, **flags}
    trainer, _ = _trainer(job, padding, False, None, flags)
    results = trainer.evaluate(features(read(rows), job, padding, trainer.processing_class))
    return {"samples_per_second": results["eval_samples_per_second"], "accuracy": results["eval_accuracy"]}


def features(rows: Rows, job: Job, padding: Padding, tokenizer: Any) -> Features:
    """Tokenised rows with numbered labels, padded now or left for the collator."""
    encoded = tokenizer(
        rows.texts, rows.pairs, truncation=True, max_length=job.max_length, padding=padding == "max_length" and padding
    )
    classes = sorted(set(read(job.train).labels))
    numbers = [classes.index(label) for label in rows.labels]
    return [
        {**{name: encoded[name][place] for name in encoded}, "label": number} for place, number in enumerate(numbers)
    ]


def _trainer(
    job: Job, padding: Padding, frozen_core: bool, micro_batch: int | None, flags: dict[str, Any]
) -> tuple[Any, list[float]]:
    """A Trainer, and the list that will hold the times at its start, at half of its steps and at the last."""
    import numpy as np
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        default_data_collator,
        set_seed,
    )

    set_seed(job.seed)
    tokenizer = AutoTokenizer.from_pretrained(job.model)
    rows = read(job.train)
    model = AutoModelForSequenceClassification.from_pretrained(job.model, num_labels=len(set(rows.labels))).float()
    if frozen_core:
        model.base_model.requires_grad_(False)

    def accuracy(prediction: Any) -> dict[str, float]:
        return {"accuracy": float((np.argmax(prediction.predictions, axis=1) == prediction.label_ids).mean())}

    at_once = micro_batch or job.batch
    return timed_trainer(
        job,
        {"per_device_train_batch_size": at_once, "gradient_accumulation_steps": job.batch // at_once, **flags},
        model=model,
        train_dataset=features(rows, job, padding, tokenizer),
        eval_dataset=features(read(job.test), job, padding, tokenizer) if job.test else None,
        data_collator=default_data_collator if padding == "max_length" else DataCollatorWithPadding(tokenizer),
        processing_class=tokenizer,
        compute_metrics=accuracy,
    )


def timed_trainer(job: Job, flags: dict[str, Any], train_dataset: Features, **parts: Any) -> tuple[Any, list[float]]:
    """The same of any task."""
    import torch
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    timed: list[float] = []

    class Clock(TrainerCallback):
        def on_train_begin(self, arguments: Any, state: Any, control: Any, **_: Any) -> None:
            timed.append(time.perf_counter())

        def on_step_end(self, arguments: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step in (job.timed_after(len(train_dataset)), job.total_steps(len(train_dataset))):
                if torch.cuda.is_available():
                    torch.cuda.synchronize()
                timed.append(time.perf_counter())

    flags = {"per_device_train_batch_size": job.batch, "per_device_eval_batch_size": 64, **flags}
    arguments = TrainingArguments(
        tempfile.gettempdir(), max_steps=job.steps or -1, num_train_epochs=job.epochs, learning_rate=job.rate,
        seed=job.seed, report_to=[], save_strategy="no", disable_tqdm=True, logging_strategy="no",
        dataloader_pin_memory=torch.cuda.is_available(), **flags,
    )  # fmt: skip
    trainer = Trainer(args=arguments, train_dataset=train_dataset, callbacks=[Clock()], **parts)
    trainer.remove_callback(PrinterCallback)
    return trainer, timed
