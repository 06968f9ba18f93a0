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

from recording import RESULTS, record
from trec_against_trainer import BATCH, EPOCHS, Rows, paired, trainers_answers, trec_rows

RATE = 1e-4
MOST, LEAST = 1000, 50


def cut(rows: Rows, seed: int) -> Rows:
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


def with_pippin(train: Rows, test: Rows, model: str, seed: int, weights: str | None = None) -> float:
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


def with_trainer(train: Rows, test: Rows, model: str, seed: int) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(*trainers_answers(train, test, model, seed, RATE, is_balanced=True), average="macro"))


def main() -> None:
    from pippin.models.loading import resolve_model

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trec", type=Path)
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    model, (questions, test) = resolve_model(None), trec_rows(arguments.trec)
    scores: dict[str, list[float]] = {"trainer, weighted": [], "pippin, balanced": [], "pippin": []}
    for seed in map(int, arguments.seeds.split(",")):
        train = cut(questions, seed)
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
