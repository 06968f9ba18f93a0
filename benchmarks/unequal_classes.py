"""Macro F1 on TREC with classes cut to 1:20: `--class_weights balanced` beside the weighted loss that people write.

    python benchmarks/unequal_classes.py TREC_FOLDER [--seeds 1,2,3]

From the most frequent class 1000 rows are kept, from the next ones fewer by the same factor, from the last one 50. All
train on the same rows with the same hyper-parameters, and are scored on the 500 test questions.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from pippin.tasks.sequence.trec_files import TEST_FILE, TRAIN_FILE, read_trec_file
from recording import RESULTS, record
from trec_against_trainer import paired

EPOCHS, BATCH, RATE = 3, 32, 1e-4
MOST, LEAST = 1000, 50


def cut(rows: list[tuple[str, str]], seed: int) -> list[tuple[str, str]]:
    """Fewer rows of each class than of the one before."""
    classes = [name for name, _ in Counter(label for _, label in rows).most_common()]
    sizes = dict(zip(classes, np.geomspace(MOST, LEAST, len(classes)).round().astype(int), strict=True))
    kept: Counter[str] = Counter()
    chosen = []
    for place in np.random.default_rng(seed).permutation(len(rows)):
        label = rows[place][1]
        if kept[label] < sizes[label]:
            kept[label] += 1
            chosen.append(rows[place])
    return chosen


def with_pippin(train: list, test: list, model: str, seed: int, weights: str | None = None) -> float:
    import pippin

    with tempfile.TemporaryDirectory() as folder:
        for name, rows in (("train", train), ("test", test)):
            with open(f"{folder}/{name}.csv", "w", newline="") as file:
                csv.writer(file).writerows([("text", "label"), *rows])
        report = pippin.train(
            train_file=f"{folder}/train.csv", validation_file=f"{folder}/test.csv", model_name_or_path=model,
            do_train=True, do_eval=True, num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH,
            learning_rate=RATE, seed=seed, class_weights=weights, output_dir=f"{folder}/run", quiet=True,
        )  # fmt: skip
    return report.results["eval_f1_macro"]


def with_trainer(train: list, test: list, model: str, seed: int) -> float:
    import torch
    from sklearn.metrics import f1_score
    from sklearn.utils.class_weight import compute_class_weight
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
        set_seed,
    )

    set_seed(seed)
    tokenizer, classes = AutoTokenizer.from_pretrained(model), sorted({label for _, label in train})
    numbers = [classes.index(label) for _, label in train]
    weights = torch.tensor(compute_class_weight("balanced", classes=np.arange(len(classes)), y=numbers)).float()

    class Weighted(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, **_):
            labels = inputs.pop("labels")
            outputs = model(**inputs)
            loss = torch.nn.functional.cross_entropy(outputs.logits, labels, weights.to(labels.device))
            return (loss, outputs) if return_outputs else loss

    def features(rows: list) -> list[dict]:
        return [
            {**tokenizer(text, truncation=True, max_length=128), "label": classes.index(name)} for text, name in rows
        ]

    with tempfile.TemporaryDirectory() as out:
        arguments = TrainingArguments(
            out, num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH, learning_rate=RATE, seed=seed,
            per_device_eval_batch_size=64, report_to=[], save_strategy="no", disable_tqdm=True, logging_strategy="no",
        )  # fmt: skip
        trainer = Weighted(
            AutoModelForSequenceClassification.from_pretrained(model, num_labels=len(classes)).float(),
            arguments,
            train_dataset=features(train),
            data_collator=DataCollatorWithPadding(tokenizer),
        )
        trainer.train()
        found = trainer.predict(features(test))
    return float(f1_score(found.label_ids, found.predictions.argmax(1), average="macro"))


def main() -> None:
    from pippin.models.loading import resolve_model

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trec", type=Path)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    model, rows = resolve_model(None), []
    for name in (TRAIN_FILE, TEST_FILE):
        columns = read_trec_file(arguments.trec / name).columns
        rows.append(list(zip(columns["text"], columns["coarse_label"], strict=True)))
    scores: dict[str, list[float]] = {"trainer, weighted": [], "pippin, balanced": [], "pippin": []}
    for seed in map(int, arguments.seeds.split(",")):
        train, test = cut(rows[0], seed), rows[1]
        scores["trainer, weighted"].append(with_trainer(train, test, model, seed))
        scores["pippin, balanced"].append(with_pippin(train, test, model, seed, "balanced"))
        scores["pippin"].append(with_pippin(train, test, model, seed))
        print(seed, {name: round(found[-1], 4) for name, found in scores.items()}, flush=True)
    figures = {
        "f1_macro": scores,
        "mean": {name: round(statistics.mean(found), 4) for name, found in scores.items()},
        "balanced minus weighted": paired(scores["pippin, balanced"], scores["trainer, weighted"]),
    }
    print(figures)
    print(record("unequal_classes", figures, arguments.results))


if __name__ == "__main__":
    main()
