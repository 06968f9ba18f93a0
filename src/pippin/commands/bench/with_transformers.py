"""The same pass with Hugging Face's Trainer, as run_glue.py uses it: every row padded to the longest that may come.

Rows are tokenised beforehand, which is not part of the time on either side.
"""

from __future__ import annotations

import math
import time
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pippin.commands.bench.results import Setting
from pippin.commands.bench.subject import Subject
from pippin.commands.bench.training import Pass, Passed
from pippin.commands.bench.with_pippin import rows_of
from pippin.commands.planning import PlannedJob
from pippin.data.collate import collate
from pippin.data.encoding import Encoded
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend

_SEED = 42


def require_trainer() -> None:
    """Refuse where transformers' Trainer cannot start."""
    if find_spec("accelerate") is None:
        raise PippinError("--against transformers: its Trainer needs one more package. Type: pip install accelerate")


def train(subject: Subject, setting: Setting, asked: Pass) -> Passed:
    """Train a fresh model and take the times."""
    from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments, default_data_collator

    backend = get_backend(setting.device)
    job = subject.planned(setting.device, asked.rows)
    steps = asked.steps or asked.epochs * math.ceil(asked.rows / setting.batch)
    half = math.ceil(steps / 2)
    times: dict[int, float] = {}

    class Times(TrainerCallback):
        def on_train_begin(self, arguments: Any, state: Any, control: Any, **_: Any) -> None:
            times[0] = time.perf_counter()

        def on_step_end(self, arguments: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step in (half, steps):
                backend.synchronize()
                times[state.global_step] = time.perf_counter()

    with TemporaryDirectory() as scratch:
        on_cpu = not backend.traits.is_gpu
        arguments = TrainingArguments(
            scratch, max_steps=steps, per_device_train_batch_size=setting.batch, per_device_eval_batch_size=64,
            learning_rate=job.plan.rates.learning_rate.value, seed=_SEED, report_to=[], save_strategy="no",
            logging_strategy="no", disable_tqdm=True, use_cpu=on_cpu, dataloader_pin_memory=not on_cpu,
            bf16=setting.precision == "bf16",
        )  # fmt: skip
        validation = next(iter(job.rows.validation.values()), None)
        assert job.rows.train is not None
        trainer = Trainer(
            _model(subject, job, asked.head_only),
            arguments,
            train_dataset=_features(job.rows.train, job),
            eval_dataset=_features(validation, job) if validation is not None else None,
            data_collator=default_data_collator,
            compute_metrics=_accuracy,
            callbacks=[Times()],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        judged = asked.judged and validation is not None and job.data.task.main_metric == "accuracy"
        score = float(trainer.evaluate()["eval_accuracy"]) if judged else None
    rows = rows_of(steps, setting.batch, asked.rows)
    after_half = rows - rows_of(half, setting.batch, asked.rows)
    return Passed(times[0], times[half], times[steps], rows, after_half, score)


def _model(subject: Subject, job: PlannedJob, head_only: bool) -> Any:
    from transformers import AutoModelForSequenceClassification, set_seed
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    set_seed(_SEED)
    if subject.random_weights:
        model = AutoModelForSequenceClassification.from_config(job.config)
    else:
        model = AutoModelForSequenceClassification.from_pretrained(
            subject.weights, num_labels=job.data.labels.outputs, ignore_mismatched_sizes=True
        )
    if head_only:
        model.base_model.requires_grad_(False)
    return model.float()


def _features(encoded: Encoded, job: PlannedJob) -> list[dict[str, Any]]:
    batch = collate(encoded, np.arange(len(encoded)), (job.plan.batches.max_length.value,))
    assert batch.labels is not None
    return [
        {**{name: tensor[row].tolist() for name, tensor in batch.inputs.items()}, "label": batch.labels[row].tolist()}
        for row in range(len(encoded))
    ]


def _accuracy(prediction: Any) -> dict[str, float]:
    return {"accuracy": float((np.argmax(prediction.predictions, axis=-1) == prediction.label_ids).mean())}
