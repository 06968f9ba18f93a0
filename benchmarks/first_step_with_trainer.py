"""The Trainer's side of `startup.py`: a script as run_glue.py is, which says when its first step is done.

python benchmarks/first_step_with_trainer.py FILE.csv MODEL_FOLDER OUTPUT_FOLDER
"""

from __future__ import annotations

import csv
import sys

import numpy as np
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)


class SayFirstStep(TrainerCallback):
    def on_step_end(self, *arguments: object, **keywords: object) -> None:
        print("step 1", flush=True)


def main(file: str, model_name: str, output: str) -> None:
    set_seed(42)
    with open(file, encoding="utf-8", newline="") as rows_file:
        rows = list(csv.DictReader(rows_file))
    classes = sorted({row["label"] for row in rows})
    config = AutoConfig.from_pretrained(model_name, num_labels=len(classes))
    tokenizer = AutoTokenizer.from_pretrained(model_name)
    model = AutoModelForSequenceClassification.from_pretrained(model_name, config=config)
    encoded = tokenizer([row["text"] for row in rows], truncation=True, max_length=128)
    features = [
        {**{name: encoded[name][place] for name in encoded}, "label": classes.index(row["label"])}
        for place, row in enumerate(rows)
    ]
    trainer = Trainer(
        model,
        TrainingArguments(output, max_steps=1, per_device_train_batch_size=16, save_strategy="no", report_to=[]),
        train_dataset=features,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=lambda answer: {"accuracy": float((np.argmax(answer[0], axis=1) == answer[1]).mean())},
    )
    trainer.add_callback(SayFirstStep())
    trainer.train()


if __name__ == "__main__":
    main(*sys.argv[1:])
