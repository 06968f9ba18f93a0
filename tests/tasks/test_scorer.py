"""Scores of answers that stream: the same to the last digit as those of all logits at once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pippin.data.encoding import Encoded
from pippin.models.labels import Labels
from pippin.tasks.sequence.metrics import score
from pippin.tasks.sequence.task import SequenceTask


def rows_with(labels: np.ndarray | None, count: int) -> Encoded:
    return Encoded(np.zeros(count), None, np.arange(count + 1), labels)


def shuffled_parts(count: int, size: int) -> list[np.ndarray]:
    order = np.random.default_rng(1).permutation(count)
    return [order[start : start + size] for start in range(0, count, size)]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("count", "classes"), [(1, 2), (23, 5), (1000, 6), (3001, 77), (401, 1000)])
def test_loss_and_metrics_are_those_of_all_rows_at_once(count, classes, smoothing):
    draw = np.random.default_rng(count)
    logits = draw.normal(0, 3, (count, classes)).astype(np.float32)
    truth = draw.integers(0, classes, count)
    labels = Labels(tuple(map(str, range(classes))))
    task = SequenceTask(labels=labels, label_smoothing=smoothing)
    scorer = task.scorer(rows_with(truth, count))
    for rows in shuffled_parts(count, 97):
        scorer.add(rows, logits[rows])
    whole = float(task.loss(torch.from_numpy(logits), torch.from_numpy(truth))) / count
    assert scorer.metrics() == {**score(task, logits.argmax(1), truth), "loss": whole}
    answers = list(scorer.predictions_of_rows())
    assert [each.label for each in answers] == [str(each) for each in logits.argmax(1)]
    probabilities = torch.softmax(torch.from_numpy(logits), 1).max(1).values
    np.testing.assert_allclose([each.score for each in answers], probabilities, rtol=1e-6)
    assert list(scorer.truths()) == [str(each) for each in truth]


def test_numbers():
    draw = np.random.default_rng(0)
    logits, truth = draw.normal(size=(500, 1)).astype(np.float32), draw.normal(size=500).astype(np.float32)
    task = SequenceTask(regression=True, labels=Labels((), True), metrics=("pearson", "mse"))
    scorer = task.scorer(rows_with(truth, 500))
    for rows in shuffled_parts(500, 64):
        scorer.add(rows, logits[rows])
    whole = float(task.loss(torch.from_numpy(logits), torch.from_numpy(truth))) / 500
    assert scorer.metrics() == {**score(task, logits[:, 0], truth), "loss": whole}
    assert next(scorer.predictions_of_rows()).value == float(logits[0, 0])


def test_nothing_is_kept_that_grows_with_rows_times_classes():
    """Fifty thousand classes and a thousand rows would be 200 MB of logits."""
    classes, count = 50_000, 1000
    task = SequenceTask(labels=Labels(tuple(map(str, range(classes)))))
    scorer = task.scorer(rows_with(np.zeros(count, np.int64), count))
    for rows in shuffled_parts(count, 100):
        scorer.add(rows, np.zeros((len(rows), classes), np.float32))
    kept = [getattr(each, "nbytes", 0) for each in vars(scorer).values()]
    assert sum(kept) < 100 * count
