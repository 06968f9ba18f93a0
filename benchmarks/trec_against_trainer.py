"""Test accuracy on TREC: Pippin beside Hugging Face's Trainer with the same hyper-parameters, seed by seed.

    python benchmarks/trec_against_trainer.py TREC_FOLDER [--model FOLDER] [--seeds 1,2,3,4,5]

Both train on all 5452 rows for 3 epochs at batch 32 and are scored on the 500 test questions, on the CPU or, where
there is one, on the GPU. The Trainer pads dynamically (padding to 128 gives the same numbers, nine times slower). Runs
alternate, so that drift hits both alike. Scores of a seed make a pair: the mean of the differences stands with its 95 %
interval by Student's t and the two-sided p. With five seeds that tells a point or so of accuracy, not a tenth of one.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from recording import RESULTS, record

EPOCHS, BATCH = 3, 32
Rows = list[tuple[str, str]]


def with_pippin(folder: Path, model: str, seed: int, rate: float, order: str | None = None) -> float:
    import pippin

    with tempfile.TemporaryDirectory() as out:
        report = pippin.train(
            task_name="trec", data_dir=str(folder), model_name_or_path=model, do_train=True, do_eval=True,
            num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH, learning_rate=rate, seed=seed,
            output_dir=out + "/run", quiet=True, train_sampling_strategy=order,
        )  # fmt: skip
    return report.results["eval_accuracy"]


def with_trainer(folder: Path, model: str, seed: int, rate: float) -> float:
    truth, predicted = trainers_answers(*trec_rows(folder), model, seed, rate)
    return float((truth == predicted).mean())


def trec_rows(folder: Path) -> list[Rows]:
    """The training and the test questions with their coarse classes."""
    from pippin.tasks.sequence.trec_files import TEST_FILE, TRAIN_FILE, read_trec_file

    tables = (read_trec_file(folder / name).columns for name in (TRAIN_FILE, TEST_FILE))
    return [list(zip(table["text"], table["coarse_label"], strict=True)) for table in tables]


def trainers_answers(
    train: Rows, test: Rows, model: str, seed: int, rate: float, is_balanced: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The test rows' classes and the Trainer's answers, as numbers. ``is_balanced``: by the loss that people write."""
    import torch
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

    def features(rows: Rows) -> list[dict]:
        return [
            {**tokenizer(text, truncation=True, max_length=128), "label": classes.index(label)} for text, label in rows
        ]

    with tempfile.TemporaryDirectory() as out:
        arguments = TrainingArguments(
            out, num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH, learning_rate=rate, seed=seed,
            per_device_eval_batch_size=64, report_to=[], save_strategy="no", disable_tqdm=True, logging_strategy="no",
        )  # fmt: skip
        trainer = (Weighted if is_balanced else Trainer)(
            AutoModelForSequenceClassification.from_pretrained(model, num_labels=len(classes)).float(),
            arguments,
            train_dataset=features(train),
            data_collator=DataCollatorWithPadding(tokenizer),
        )
        trainer.train()
        found = trainer.predict(features(test))
    return found.label_ids, found.predictions.argmax(1)


def paired(ours: list[float], theirs: list[float]) -> dict[str, float | list[float] | None]:
    """The mean difference of paired scores, its 95 % interval and the two-sided p; no interval from a single pair."""
    from scipy import stats

    gaps = [own - other for own, other in zip(ours, theirs, strict=True)]
    mean = statistics.mean(gaps)
    if len(gaps) < 2:
        return {"mean": round(mean, 4), "interval": None, "p": None}
    error = statistics.stdev(gaps) / len(gaps) ** 0.5
    half = float(stats.t.ppf(0.975, len(gaps) - 1)) * error
    p = 2 * float(stats.t.sf(abs(mean) / error, len(gaps) - 1)) if error else float(mean == 0)
    return {"mean": round(mean, 4), "interval": [round(mean - half, 4), round(mean + half, 4)], "p": round(p, 3)}


#: Pippin as it plans for the device; and in both orders, which shows what grouping by length does to the score.
WAYS = {
    "trainer": with_trainer,
    "pippin": with_pippin,
    "pippin windows": partial(with_pippin, order="windows"),
    "pippin random": partial(with_pippin, order="random"),
}


def main() -> None:
    import torch

    from pippin.models.loading import resolve_model

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trec", type=Path)
    parser.add_argument("--model", default=None)
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--rates", default="2e-5")
    parser.add_argument("--ways", default="trainer,pippin", help=f"of {', '.join(WAYS)}")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    model = resolve_model(arguments.model)
    ways = {name: WAYS[name] for name in arguments.ways.split(",")}
    figures = []
    for rate in map(float, arguments.rates.split(",")):
        scores: dict[str, list[float]] = {name: [] for name in ways}
        seconds = dict.fromkeys(ways, 0.0)
        for seed in map(int, arguments.seeds.split(",")):
            for name, run in ways.items():
                start = time.perf_counter()
                scores[name].append(run(arguments.trec, model, seed, rate))
                seconds[name] += time.perf_counter() - start
                print(f"rate {rate:g} seed {seed} {name:13} {scores[name][-1]:.4f}", flush=True)
        means = {name: round(statistics.mean(values), 4) for name, values in scores.items()}
        print(f"rate {rate:g}: mean accuracy {means}, seconds {seconds}")
        figures.append({"learning_rate": rate, "accuracy": scores, "mean": means, "seconds": seconds})
        if "trainer" in scores:
            others = {name: values for name, values in scores.items() if name != "trainer"}
            figures[-1]["minus_trainer"] = {name: paired(values, scores["trainer"]) for name, values in others.items()}
            print(f"rate {rate:g}: minus the Trainer {figures[-1]['minus_trainer']}")
    where = "_cuda" if torch.cuda.is_available() else ""
    print(record(f"trec_against_trainer{where}", figures, arguments.results))


if __name__ == "__main__":
    main()
