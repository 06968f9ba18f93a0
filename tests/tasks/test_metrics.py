"""Metrics against figures worked out by hand."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from pippin.models.labels import Labels
from pippin.tasks.sequence.known import OWN_CLASSES, TASKS
from pippin.tasks.sequence.metrics import confusion, per_class, score, top_confusions
from pippin.tasks.sequence.task import SequenceTask

TRUTH = np.array([1, 1, 1, 0, 0, 1])
GUESS = np.array([1, 0, 1, 0, 1, 1])


def test_mrpc_has_accuracy_f1_and_their_mean():
    figures = score(TASKS["mrpc"], GUESS, TRUTH)
    assert figures == pytest.approx({"accuracy": 4 / 6, "f1": 0.75, "combined_score": (4 / 6 + 0.75) / 2})


def test_cola_is_matthews():
    # tp 3, tn 1, fp 1, fn 1
    expected = (3 * 1 - 1 * 1) / np.sqrt(4 * 4 * 2 * 2)
    assert score(TASKS["cola"], GUESS, TRUTH) == pytest.approx({"matthews_correlation": expected})


def test_stsb_is_pearson_and_spearman():
    truth, guess = np.array([0.0, 1.0, 2.0, 5.0]), np.array([1.0, 2.0, 3.0, 4.0])
    figures = score(TASKS["stsb"], guess, truth)
    assert figures["spearmanr"] == pytest.approx(1.0)
    assert figures["pearson"] == pytest.approx(np.corrcoef(truth, guess)[0, 1])
    assert figures["combined_score"] == pytest.approx((figures["pearson"] + 1.0) / 2)


def test_constant_predictions_have_no_correlation():
    assert score(TASKS["stsb"], np.ones(4), np.arange(4.0))["pearson"] == 0.0


def test_own_data_has_accuracy_and_macro_f1():
    figures = score(OWN_CLASSES, GUESS, TRUTH)
    assert figures == pytest.approx({"accuracy": 4 / 6, "f1_macro": (0.75 + 0.5) / 2})
    assert OWN_CLASSES.main_metric == "accuracy"


def test_by_class_and_confusion():
    labels = Labels(("no", "yes", "never seen"))
    assert confusion(labels, GUESS, TRUTH) == [[1, 1, 0], [1, 3, 0], [0, 0, 0]]
    assert per_class(labels, GUESS, TRUTH)["yes"] == pytest.approx(
        {"precision": 0.75, "recall": 0.75, "f1": 0.75, "rows": 4}
    )
    assert per_class(labels, GUESS, TRUTH)["never seen"]["rows"] == 0


def test_what_is_mixed_up_most():
    labels = Labels(("a", "b", "c"))
    truth, guess = np.array([0, 0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 1, 0, 2, 2, 0, 0])
    assert top_confusions(labels, guess, truth) == [("a", "b", 2), ("c", "a", 2), ("b", "a", 1), ("b", "c", 1)]
    assert top_confusions(labels, truth, truth) == []


def test_many_classes_take_room_for_each_and_not_for_each_pair():
    """A table of all pairs of these classes would have ten billion cells."""
    classes, rows = 100_000, 2_000
    draw = np.random.default_rng(0)
    truth = draw.integers(0, classes, rows)
    guess = np.where(draw.random(rows) < 0.5, truth, draw.integers(0, classes, rows))
    labels = Labels(tuple(f"class {number}" for number in range(classes)))
    tracemalloc.start()
    figures = per_class(labels, guess, truth)
    scores = score(SequenceTask(metrics=("accuracy", "f1_macro", "matthews_correlation")), guess, truth)
    pairs = top_confusions(labels, guess, truth)
    assert confusion(labels, guess, truth) == []
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 100 << 20
    assert len(figures) == classes
    assert scores["accuracy"] == pytest.approx((truth == guess).mean())
    assert len(pairs) == 100
    assert all(rows >= 1 and true != predicted for true, predicted, rows in pairs)


@pytest.mark.parametrize(("classes", "has_matrix"), [(100, True), (101, False)])
def test_the_matrix_stops_at_a_hundred_classes(classes, has_matrix):
    labels, numbers = Labels(tuple(map(str, range(classes)))), np.arange(classes)
    assert bool(confusion(labels, numbers, numbers)) is has_matrix


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("seed", range(5))
def test_as_scikit_learn_has_them(classes, seed):
    known = pytest.importorskip("sklearn.metrics")
    draw = np.random.default_rng(seed)
    truth, guess = draw.integers(0, classes, 20), draw.integers(0, max(2, classes - seed), 20)
    figures = {
        name: score(SequenceTask(metrics=(name,)), guess, truth)[name] for name in ("f1_macro", "matthews_correlation")
    }
    assert figures == pytest.approx(
        {
            "f1_macro": known.f1_score(truth, guess, average="macro", zero_division=0),
            "matthews_correlation": known.matthews_corrcoef(truth, guess),
        }
    )
    labels = Labels(tuple("abcdefg"[:classes]))
    expected = known.precision_recall_fscore_support(truth, guess, labels=range(classes), zero_division=0)
    found = [list(one.values()) for one in per_class(labels, guess, truth).values()]
    np.testing.assert_allclose(found, np.transpose(expected))
    assert confusion(labels, guess, truth) == known.confusion_matrix(truth, guess, labels=range(classes)).tolist()
    if classes == 2:
        assert score(TASKS["mrpc"], guess, truth)["f1"] == pytest.approx(known.f1_score(truth, guess, zero_division=0))


def test_predictions_of_one_class():
    nothing = np.zeros(4, int)
    assert score(TASKS["cola"], nothing, np.array([0, 1, 0, 1])) == {"matthews_correlation": 0.0}
    assert score(TASKS["mrpc"], nothing, nothing)["f1"] == 0.0
