"""A model that does no better than one answer to every row is told of in plain words."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from pippin.data.encoding import Encoded
from pippin.models.labels import Labels
from pippin.tasks.sequence.known import OWN_NUMBERS, TASKS
from pippin.tasks.sequence.scorer import SequenceScorer
from pippin.tasks.sequence.task import SequenceTask

CLASSES = SequenceTask(labels=Labels(("common", "rare")))
NUMBERS = OWN_NUMBERS.with_labels(Labels((), regression=True))


def rows_with(labels: list[float], task: SequenceTask = CLASSES) -> Encoded:
    kind = np.float32 if task.regression else np.int64
    return Encoded(np.zeros(len(labels)), None, np.arange(len(labels) + 1), np.array(labels, kind))


def answered(task: SequenceTask, answers: list[float], truth: list[float]) -> SequenceScorer:
    scorer = task.scorer(rows_with(truth, task))
    logits = np.array(answers)[:, None] if task.regression else np.eye(2)[answers]
    scorer.add(np.arange(len(truth)), logits.astype(np.float32))
    return scorer


def remarks(task: SequenceTask, answers: list[float], truth: list[float]) -> list[str]:
    scorer = answered(task, answers, truth)
    return scorer.remarks("validation", scorer.baseline(rows_with(truth, task)))


def test_the_most_frequent_class_is_that_of_the_training_rows():
    scorer = answered(CLASSES, [0, 1, 1, 1], [0, 1, 1, 1])
    baseline = scorer.baseline(rows_with([0, 0, 0, 1]))
    assert baseline.answer == 'always answering "common"'
    assert baseline.metrics == {"accuracy": 0.25, "f1_macro": pytest.approx(0.2)}


def test_one_answer_to_every_row_is_said():
    (said,) = remarks(CLASSES, [0] * 20, [0] * 19 + [1])
    assert said.startswith('the model answers "common" to all 20 validation rows, whatever they say. Try more rows')
    assert "--epochs" in said
    assert "--lr" in said


def test_no_better_than_the_baseline_is_said_and_better_is_not():
    truth = [0] * 8 + [1] * 2
    (said,) = remarks(CLASSES, [1] + [0] * 9, truth)
    assert said.startswith(
        'accuracy 0.7000 on the validation rows is no better than always answering "common" (0.8000)'
    )
    assert remarks(CLASSES, [0] * 9 + [1], truth) == []


@pytest.mark.parametrize(
    ("answers", "truth"), [([1, 0, 0, 1], [0, 0, 0, 1]), ([0] * 9, [0] * 9)], ids=["few", "one class"]
)
def test_nothing_is_said_of_too_few_rows_or_of_one_class(answers, truth):
    assert remarks(CLASSES, answers, truth) == []


def test_numbers():
    truth = [float(number) for number in range(10)]
    scorer = answered(NUMBERS, truth, truth)
    baseline = scorer.baseline(rows_with([1.0, 2.0], NUMBERS))
    assert baseline.answer == "always answering the mean, 1.5"
    assert baseline.metrics["mse"] == pytest.approx(np.mean((np.arange(10) - 1.5) ** 2))
    assert baseline.metrics["r2"] == pytest.approx(1 - baseline.metrics["mse"] / 8.25)
    assert scorer.remarks("test", baseline) == []
    (said,) = remarks(NUMBERS, [4.5 + 0.001 * place for place in range(10)], truth)
    assert said.startswith("the model answers about 4.504 to all 10 validation rows, whatever they say.")
    (said,) = remarks(NUMBERS, truth[::-1], truth)
    assert said.startswith("mse 33.0000 on the validation rows is no better than always answering the mean, 4.5 (8.25")
    assert "scaled" not in said
    assert "scaled to between 0 and 1" in remarks(NUMBERS, [50.0] * 10, [100.0 + number for number in truth])[0]


def test_figures_of_numbers_by_hand():
    scorer = answered(NUMBERS, [1.0, 2.0, 3.0, 6.0], [1.0, 2.0, 4.0, 5.0])
    figures = scorer.metrics()
    expected = {"mse": 0.5, "mae": 0.5, "rmse": 0.5**0.5, "r2": 0.8, "loss": 0.5}
    assert {name: figures[name] for name in expected} == pytest.approx(expected)
    assert set(TASKS["stsb"].metrics) == {"pearson", "spearmanr"}


def test_constant_truth_has_no_r2():
    scorer = answered(NUMBERS, [1.0] * 6, [2.0] * 6)
    assert "r2" not in scorer.metrics()
    assert np.isfinite(list(scorer.metrics().values())).all()
    said = scorer.remarks("test", scorer.baseline(rows_with([2.0], NUMBERS)))
    assert said == ["all test rows have the number 2: r2, pearson, spearmanr are not defined and left out."]


def test_a_constant_model_is_told_of_in_terminal_and_report(train, write_rows):
    rows = [
        {"text": f"the {'cat' if place % 10 else 'saw'} {place}", "label": str(place % 10 == 0)} for place in range(80)
    ]
    out, results = train(write_rows("rows.csv", rows), "--learning_rate", "1e-2", steps=3)
    report = json.loads(Path("run/report.json").read_text())
    assert 'accuracy 0.8750 (0.8750 by always answering "false") · f1_macro' in out
    assert 'warning: the model answers "false" to all 8 validation rows' in out
    assert report["baselines"]["eval_accuracy"] == results["eval_accuracy"] == 0.875
    assert report["baseline_answer"] == 'always answering "false"'
    assert len(report["remarks"]) == 1
    assert "baseline" not in Path("run/all_results.json").read_text()


def test_a_metric_without_a_value_decides_nothing(train, tmp_path):
    """All validation rows have one number: r2 is undefined, and the last model is kept."""
    for name, number in (("rows", None), ("check", 2.5)):
        with (tmp_path / f"{name}.csv").open("w") as file:
            lines = csv.writer(file)
            lines.writerow(["text", "score"])
            lines.writerows([f"cat dog {name} {place}", number or place % 4 + 0.5] for place in range(16))
    flags = ["--load_best_model_at_end", "--metric_for_best_model", "r2", "--eval_steps", 1]
    out, results = train("rows.csv", "--do_regression", "--validation_file", "check.csv", *flags, steps=2)
    assert "eval_r2" not in results
    assert "r2, pearson, spearmanr are not defined" in out
    assert "kept the model from step 2" in out
