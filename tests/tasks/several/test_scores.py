"""Loss, thresholds and metrics of several labels, against transformers and scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score
from transformers import BertConfig, BertForSequenceClassification

from pippin.data.encoding import Encoded
from pippin.data.examples import Examples
from pippin.errors import PippinError
from pippin.models.labels import Labels, keep_thresholds, labels_of
from pippin.tasks.base import Columns
from pippin.tasks.sequence.several.metrics import score
from pippin.tasks.sequence.several.task import SeveralTask
from pippin.tasks.sequence.several.thresholds import best_thresholds

NAMES = ("a", "b", "c", "d")
TASK = SeveralTask(labels=Labels(NAMES, several=True))


def drawn(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    truth = (draw.random((rows, 4)) < [0.5, 0.3, 0.1, 0.02]).astype(np.uint8)
    return (draw.normal(size=(rows, 4)) * 2 + truth * 2 - 2).astype(np.float32), truth


def encoded(truth: np.ndarray | None, rows: int) -> Encoded:
    return Encoded(np.zeros(rows, np.int32), None, np.arange(rows + 1), truth)


def test_the_loss_is_transformers():
    config = BertConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, num_labels=4,
        problem_type="multi_label_classification",
    )  # fmt: skip
    model = BertForSequenceClassification(config).eval()
    labels = torch.from_numpy(drawn(6)[1])
    found = model(torch.arange(30).view(6, 5) % 20, labels=labels.float())
    ours = TASK.loss(found.logits, labels) / TASK.count(labels)
    assert ours.item() == pytest.approx(found.loss.item(), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_metrics_are_scikit_learns(seed):
    logits, truth = drawn(200, seed)
    given = logits > 0
    found = score(given, truth)
    assert found["f1"] == pytest.approx(f1_score(truth, given, average="micro"))
    assert found["f1_macro"] == pytest.approx(f1_score(truth, given, average="macro"))
    assert found["subset_accuracy"] == pytest.approx(accuracy_score(truth, given))


def test_no_other_threshold_is_better():
    logits, truth = drawn(300)
    probabilities = 1 / (1 + np.exp(-logits))
    thresholds = best_thresholds(probabilities, truth)
    for label in range(3):
        best = f1_score(truth[:, label], probabilities[:, label] >= thresholds[label])
        others = (f1_score(truth[:, label], probabilities[:, label] >= each) for each in np.unique(probabilities))
        assert best == pytest.approx(max(others))


def test_rare_labels_share_a_threshold():
    probabilities = np.array([[0.9, 0.6], [0.8, 0.1], [0.7, 0.1], [0.3, 0.1], [0.2, 0.1], [0.2, 0.1]], np.float32)
    truth = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 0], [0, 0]], np.uint8)
    first, second = best_thresholds(np.repeat(probabilities, 2, axis=0), np.repeat(truth, 2, axis=0))
    assert first == 0.5
    assert second == pytest.approx(0.65), "between 0.6 and 0.7, where both together do best"
    assert best_thresholds(probabilities, np.zeros_like(truth)).tolist() == [0.5, 0.5]


def test_validation_chooses_and_a_models_own_thresholds_stay():
    logits, truth = drawn(100)
    scorer = TASK.scorer(encoded(truth, 100))
    scorer.add(np.arange(100), logits)
    chosen = TASK.settled(lambda: scorer)
    assert chosen.thresholds != (0.5,) * 4
    own = TASK.with_labels(replace(TASK.labels, thresholds=(0.5,) * 4)).scorer(encoded(truth, 100))
    own.add(np.arange(100), logits)
    assert own.metrics()["f1"] == pytest.approx(f1_score(truth, logits > 0, average="micro"))
    assert own.metrics()["loss"] == scorer.metrics()["loss"]
    assert TASK.settled(None).thresholds == (0.5,) * 4


def test_answers_are_the_labels_that_reach_their_threshold():
    task = TASK.with_labels(replace(TASK.labels, thresholds=(0.9, 0.2, 0.5, 0.5)))
    scorer = task.scorer(encoded(None, 2))
    scorer.add(np.array([1, 0]), np.array([[1, 1, -9, -9], [-9, -9, -9, -9]], np.float32))
    nothing, second = scorer.predictions_of_rows()
    assert nothing.labels == ()
    assert second.labels == ("b",), "0.73 is below 0.9"
    assert second.scores == pytest.approx((0.731,), abs=1e-3)
    columns = task.answer_columns()
    assert columns.names == ["labels", "scores"]
    assert columns.cells(second)[0] == "b"
    assert columns.values(nothing) == [[], []]
    assert columns.values(None) == [None, None]
    every = task.answer_columns(all_scores=True)
    line = np.array([0.95, 0.3, 0.1, 0.0], np.float32)
    assert every.cells(line) == ["a|b", "0.950000|0.300000", "0.950000", "0.300000", "0.100000", "0.000000"]
    top = task.answer_columns(top_k=2)
    assert top.cells(line)[:4] == ["a", "0.950000", "b", "0.300000"]
    assert [each["label"] for each in top.values(line)[2]] == ["a", "b"]


def test_thresholds_live_in_the_configuration():
    config = BertConfig(id2label=dict(enumerate(NAMES)), problem_type="multi_label_classification")
    assert labels_of(config).thresholds == (0.5,) * 4
    keep_thresholds(config, Labels(NAMES, several=True, thresholds=(0.1, 0.2, 0.3, 0.4)))
    assert labels_of(BertConfig.from_dict(config.to_dict())).thresholds == (0.1, 0.2, 0.3, 0.4)
    config.label_thresholds["a"] = "x"
    with pytest.raises(PippinError, match="'x' is no threshold for 'a'"):
        labels_of(config)
    config.label_thresholds = {"a": 0.5}
    with pytest.raises(PippinError, match="does not name the model's labels"):
        labels_of(config)
    keep_thresholds(config, Labels(("yes", "no")))
    assert config.label_thresholds is None


def test_the_simplest_answer_and_what_is_said_of_one_answer_to_all():
    truth = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]], np.uint8)
    scorer = TASK.scorer(encoded(truth, 3))
    baseline = scorer.baseline(encoded(truth, 3))
    assert baseline.answer == 'always answering "a"'
    assert baseline.metrics["f1"] == pytest.approx(4 / 7)
    scorer.thresholds = np.full(4, 0.5, np.float32)
    assert "gives no label to all 3 validation rows" in scorer.remarks("validation", baseline)[0]


def test_a_report_has_labels_with_their_thresholds_and_mistakes_as_lists():
    truth = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]], np.uint8)
    task = TASK.with_labels(replace(TASK.labels, thresholds=(0.5, 0.25, 0.5, 0.5)))
    scorer = task.scorer(encoded(truth, 3))
    scorer.add(np.arange(3), np.array([[9, -9, -9, -9], [9, -9, 1, -9], [-9, -9, -9, -9]], np.float32))
    texts = Examples(["x", "y", "z"], None, None, [4, 5, 6], "rows.csv")
    labels, mistakes = (part.table for part in scorer.parts(texts, Columns(("text",), "label", ""), "test"))
    assert [row[:2] for row in labels.rows] == [("b", 0.25), ("c", 0.5), ("a", 0.5), ("d", 0.5)], "the worst first"
    assert [row[4] for row in labels.rows] == [0.0, 0.0, 1.0, None]
    actual_and_predicted = {row[0]: row[2:4] for row in mistakes.rows}
    assert actual_and_predicted == {5: (("a", "b"), ("a", "c")), 6: (("c",), ())}
    assert mistakes.formats == ("d", "long", "names", "names", ".2f")
