"""The same job with Hugging Face's Trainer, resumed as its documentation says: resume_from_checkpoint=True."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torture_child import Child
from torture_job import RUN, Result, sha256

_OF_THE_CLOCK = ("train_runtime", "train_samples_per_second", "train_steps_per_second", "total_flos")


@dataclass(frozen=True)
class TrainerJob:
    """A script of the usual shape: data, model, arguments, `trainer.train`."""

    model: Path
    rows: Path
    steps: int
    save_steps: int
    name: str = "trainer"
    damageable: tuple[str, ...] = (
        "model.safetensors", "optimizer.pt", "scheduler.pt", "rng_state.pth", "trainer_state.json", "config.json",
        "training_args.bin",
    )  # fmt: skip

    @property
    def save_points(self) -> list[int]:
        return list(range(self.save_steps, self.steps, self.save_steps))

    def start(self, folder: Path, resume: bool = False, before: Callable[[], Any] | None = None) -> Child:
        def work() -> int:
            if before is not None:
                before()
            self._train(resume)
            return 0

        return Child(work, folder, "again" if resume else "first")

    def save_has_begun(self, folder: Path, step: int) -> bool:
        return self._checkpoint(folder, step).exists()

    def save_was_cut(self, folder: Path, step: int) -> bool:
        """trainer_state.json is what it writes last."""
        return self._checkpoint(folder, step).exists() and not _is_whole(self._checkpoint(folder, step))

    def checkpoints(self, folder: Path) -> list[Path]:
        found = [path for path in (folder / RUN).glob("checkpoint-*") if _is_whole(path)]
        return sorted(found, key=lambda path: int(path.name.removeprefix("checkpoint-")))

    def result(self, folder: Path) -> Result | None:
        weights, history = folder / RUN / "model.safetensors", folder / "history.json"
        if not weights.exists() or not history.exists():
            return None
        events = json.loads(history.read_text())
        kept = [{key: value for key, value in event.items() if key not in _OF_THE_CLOCK} for event in events]
        # Its mean loss covers only the steps since the resume: a difference of reporting, not of training.
        losses = [event for event in kept if "train_loss" not in event]
        return Result(sha256(weights), tuple(json.dumps(event, sort_keys=True) for event in losses))

    def _train(self, resume: bool) -> None:
        from transformers import (
            AutoModelForSequenceClassification,
            AutoTokenizer,
            DataCollatorWithPadding,
            Trainer,
            TrainingArguments,
            set_seed,
        )

        set_seed(42)
        rows = [json.loads(line) for line in self.rows.read_text().splitlines()]
        classes = sorted({row["label"] for row in rows})
        tokenizer = AutoTokenizer.from_pretrained(self.model)
        features = [{**tokenizer(row["text"]), "label": classes.index(row["label"])} for row in rows]
        arguments = TrainingArguments(
            RUN, max_steps=self.steps, save_steps=self.save_steps, save_total_limit=2, logging_steps=1,
            per_device_train_batch_size=8, learning_rate=1e-3, use_cpu=True, report_to=[], disable_tqdm=True, seed=42,
        )  # fmt: skip
        trainer = Trainer(
            AutoModelForSequenceClassification.from_pretrained(self.model, num_labels=len(classes)),
            arguments,
            train_dataset=features,
            data_collator=DataCollatorWithPadding(tokenizer),
        )
        trainer.train(resume_from_checkpoint=True if resume else None)
        trainer.save_model(RUN)
        Path("history.json").write_text(json.dumps(trainer.state.log_history))

    def _checkpoint(self, folder: Path, step: int) -> Path:
        return folder / RUN / f"checkpoint-{step}"


def _is_whole(checkpoint: Path) -> bool:
    try:
        json.loads((checkpoint / "trainer_state.json").read_text())
    except (OSError, ValueError):
        return False
    return True
