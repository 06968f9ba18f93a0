"""Weights of classes: those of torch, on average 1, told and checked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from helpers import make_rows
from pippin.data.encoding import Encoded
from pippin.errors import PippinError
from pippin.models.labels import Labels
from pippin.tasks.class_weights import class_weights, inequality, weights_in_words
from pippin.tasks.sequence.task import SequenceTask

NAMES = ("common", "rare", "odd")
NUMBERS = np.array([0] * 16 + [1] * 2 + [2] * 2)


def test_balanced_classes_count_alike_and_rows_one_on_average():
    weights = np.array(class_weights(("balanced",), NAMES, NUMBERS))
    assert weights[NUMBERS].mean() == pytest.approx(1)
    sums = [weights[NUMBERS[number == NUMBERS]].sum() for number in range(3)]
    assert sums == pytest.approx([20 / 3] * 3)


def test_weights_by_hand_in_a_file_or_a_mapping_are_the_same(tmp_path):
    from pippin.recipe.reading import recipe_from

    (tmp_path / "weights.json").write_text(json.dumps({"rare": 8, "odd": 2}))
    by_hand = class_weights(("rare=8", "odd=2"), NAMES, NUMBERS)
    assert by_hand[1] == pytest.approx(8 * by_hand[0])
    assert by_hand[2] == pytest.approx(2 * by_hand[0])
    assert class_weights(("weights.json",), NAMES, NUMBERS) == by_hand
    asked = recipe_from({"class_weights": {"rare": 8, "odd": 2}}).recipe.class_weights
    assert class_weights(asked, NAMES, NUMBERS) == by_hand
    assert recipe_from({"class_weights": None}).recipe.class_weights == ()
    assert weights_in_words(by_hand, NAMES) == "common 0.556, odd 1.11, rare 4.44"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("balancd",), "balancd: there is no such file. Write balanced, or"),
        (("rar=3",), "rar: there is no such class; there are common, rare, odd. Did you mean rare?"),
        (("rare=3", "odd"), "'odd' is not NAME=WEIGHT"),
        (("rare=3", "rare=4"), "names 'rare' twice"),
        (("rare=-1",), "'-1' is not a weight for 'rare'"),
        (("rare=nan",), "'nan' is not a weight"),
        (("common=0", "rare=0", "odd=0"), "has the weight 0"),
        (("list.json",), "holds no names with weights"),
        (("broken.json",), "the file is not JSON"),
        (("words.json",), "'much' is not a weight for 'rare'"),
    ],
)
def test_what_cannot_be_is_said_with_the_way_out(asked, words):
    Path("list.json").write_text("[1, 2]")
    Path("broken.json").write_text("{")
    Path("words.json").write_text('{"rare": "much"}')
    with pytest.raises(PippinError) as found:
        class_weights(asked, NAMES, NUMBERS)
    assert words in str(found.value)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_losses_are_torchs_in_training_and_evaluation(smoothing):
    logits, truth = torch.randn(len(NUMBERS), 3), torch.from_numpy(NUMBERS)
    weights = class_weights(("balanced",), NAMES, NUMBERS)
    task = SequenceTask(labels=Labels(NAMES), label_smoothing=smoothing, class_weights=weights)
    wanted = functional.cross_entropy(logits, truth, torch.tensor(weights), reduction="sum", label_smoothing=smoothing)
    assert float(task.loss(logits, truth)) == float(wanted)
    some = torch.tensor([0, 1, 3, 17])  # a batch has the mean that people write for Trainer
    mean = functional.cross_entropy(logits[some], truth[some], torch.tensor(weights), label_smoothing=smoothing)
    assert float(task.loss(logits[some], truth[some])) / task.count(truth[some]) == pytest.approx(float(mean))
    assert replace(task, class_weights=(0.0, 1.0, 1.0)).count(truth[:4]) > 0
    assert float(task.loss(logits, truth)) != float(replace(task, class_weights=()).loss(logits, truth))
    scorer = task.scorer(Encoded(np.zeros(20), None, np.arange(21), NUMBERS))
    scorer.add(np.arange(20), logits.numpy())
    assert scorer.metrics()["loss"] == pytest.approx(float(wanted) / 20, rel=1e-6)


def test_weights_follow_their_classes_into_a_models_order():
    task = SequenceTask(labels=Labels(NAMES), class_weights=(1.0, 2.0, 3.0))
    assert task.with_labels(Labels(("odd", "common", "rare"))).class_weights == (3.0, 1.0, 2.0)
    assert SequenceTask(labels=Labels(NAMES)).with_labels(Labels(NAMES[::-1])).class_weights == ()


def test_very_unequal_classes_are_told():
    assert inequality(NAMES, NUMBERS) == ""
    assert inequality(("a", "b"), np.array([0] * 40 + [1] * 4)) == "'a' has 40 training rows, and 'b' has 4"


def test_a_run_says_its_weights_and_keeps_the_best_by_macro_f1(run_cli, write_rows, tiny_model):
    rows = make_rows(200)
    unequal = [row for row in rows if row["label"] == "food"] + [row for row in rows if row["label"] != "food"][:6]
    file = write_rows("unequal.csv", unequal)
    words = ("train", file, "--model", tiny_model, "--max_steps", 4, "--overwrite_output_dir", "--output", "run")
    code, out, err = run_cli(*words, "--early_stopping_patience", 2)
    assert code == 0, err
    assert "So the main metric is macro F1, in which all classes count alike. To make rare classes count for" in out
    schedule = json.loads(Path("run/run.json").read_text())["plan"]["schedule"]
    assert schedule["best_metric"]["value"] == "f1_macro"
    code, out, err = run_cli(*words, "--class_weights", "balanced")
    assert code == 0, err
    assert "weights of the classes in the loss: food " in out
    assert "To make rare" not in out
    code, out, err = run_cli(*words, "--class_weights", "balanced", "--do_train")
    assert "macro F1" not in out
    code, out, err = run_cli(*words, "--class_weights", "fod=3")
    assert (code, "fod: there is no such class" in err) == (2, True)
