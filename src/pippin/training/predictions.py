"""Predictions as files: a CSV with label and score, and the tab-separated file that run_glue.py writes."""

from __future__ import annotations

import csv
import io

import numpy as np

from pippin.data.dataset import Dataset
from pippin.data.labels import Labels
from pippin.training.run import RunFolder


def write_predictions(folder: RunFolder, split: str, data: Dataset, logits: np.ndarray) -> None:
    """Write predictions.csv (predictions-SPLIT.csv for a second split) and predict_results_TASK.txt."""
    answers, scores = label_and_score(logits, data.labels)
    examples = data.test[split]
    suffix = "" if split == "test" else "-" + split.removeprefix("test_")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    has_labels = examples.labels is not None
    writer.writerow(["row", *data.columns.text, *(["true_label"] if has_labels else []), "label", "score"])
    for place, row in enumerate(examples.rows):
        pair = [examples.pairs[place]] if examples.pairs is not None else []
        truth = [_truth(examples.labels[place], data.labels)] if examples.labels is not None else []
        writer.writerow([row, examples.texts[place], *pair, *truth, answers[place], _number(scores[place])])
    folder.write(f"predictions{suffix}.csv", text.getvalue())
    task = data.task.name or data.name
    lines = "".join(f"{place}\t{answer}\n" for place, answer in enumerate(answers))
    folder.write(
        f"predict_results_{task}{'-mm' if split.endswith('mismatched') else ''}.txt",
        "index\tprediction\n" + lines,
    )


def label_and_score(logits: np.ndarray, labels: Labels) -> tuple[list[str], list[float | None]]:
    """Each row's answer, and for classes its probability."""
    if labels.regression:
        return [f"{value:.4f}" for value in logits[:, 0]], [None] * len(logits)
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = shifted / shifted.sum(axis=1, keepdims=True)
    best = probabilities.argmax(axis=1)
    return [labels.names[place] for place in best], [float(p[b]) for p, b in zip(probabilities, best, strict=True)]


def _truth(label: np.generic, labels: Labels) -> str:
    return f"{float(label):g}" if labels.regression else labels.names[int(label)]


def _number(score: float | None) -> str:
    return "" if score is None else f"{score:.6f}"
