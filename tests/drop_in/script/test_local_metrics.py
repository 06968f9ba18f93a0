"""Metrics under evaluate's names: against scikit-learn and scipy, with scikit-learn and without."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pippin.drop_in.script import metrics
from pippin.drop_in.script.metric_loading import EvaluateStandIn, LocalMetrics, load_local
from pippin.errors import PippinError

learn = pytest.importorskip("sklearn.metrics")
DRAW = np.random.default_rng(0)
TRUTH, FOUND = DRAW.integers(0, 2, 60), DRAW.integers(0, 2, 60)
TRUTH_OF_4, FOUND_OF_4 = DRAW.integers(0, 3, 60), DRAW.integers(0, 4, 60)
NUMBERS, NEARBY = DRAW.normal(size=60).astype(np.float32), DRAW.normal(size=60).astype(np.float32)


@pytest.fixture(params=["with scikit-learn", "without"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without":
        monkeypatch.setattr(metrics, "_scikit_learn", lambda: None)


def computed(name: str, predictions: Any, references: Any, config: str | None = None, **options: Any) -> Any:
    return load_local(name, config).compute(predictions=predictions, references=references, **options)


@pytest.mark.usefixtures("either_way")
class TestAgainstScikitLearn:
    def test_of_classes(self) -> None:
        assert computed("accuracy", FOUND, TRUTH) == {"accuracy": pytest.approx(learn.accuracy_score(TRUTH, FOUND))}
        right = int((FOUND == TRUTH).sum())
        assert computed("accuracy", FOUND, TRUTH, normalize=False) == {"accuracy": right}
        wanted = learn.matthews_corrcoef(TRUTH_OF_4, FOUND_OF_4)
        assert computed("matthews_correlation", FOUND_OF_4, TRUTH_OF_4)["matthews_correlation"] == pytest.approx(wanted)
        assert computed("glue", FOUND_OF_4, TRUTH_OF_4, "cola")["matthews_correlation"] == pytest.approx(wanted)

    @pytest.mark.parametrize("name", ["f1", "precision", "recall"])
    def test_averages(self, name: str) -> None:
        wanted = getattr(learn, f"{name}_score")
        assert computed(name, FOUND, TRUTH) == {name: pytest.approx(wanted(TRUTH, FOUND))}
        assert computed(name, FOUND, TRUTH, pos_label=0) == {name: pytest.approx(wanted(TRUTH, FOUND, pos_label=0))}
        for average in ("micro", "macro", "weighted", None):
            found = computed(name, FOUND_OF_4, TRUTH_OF_4, average=average)[name]
            assert found == pytest.approx(wanted(TRUTH_OF_4, FOUND_OF_4, average=average, zero_division=0)), average
        with pytest.raises(ValueError, match="binary"):
            computed(name, FOUND_OF_4, TRUTH_OF_4)

    def test_of_numbers(self) -> None:
        square = float(np.mean((NUMBERS.astype(float) - NEARBY.astype(float)) ** 2))
        assert computed("mse", NEARBY, NUMBERS) == {"mse": pytest.approx(square)}
        assert computed("mse", NEARBY, NUMBERS, squared=False) == {"mse": pytest.approx(square**0.5)}
        assert computed("mae", NEARBY, NUMBERS) == {"mae": pytest.approx(learn.mean_absolute_error(NUMBERS, NEARBY))}

    def test_of_glue(self) -> None:
        both = {"accuracy": pytest.approx((FOUND == TRUTH).mean()), "f1": pytest.approx(learn.f1_score(TRUTH, FOUND))}
        assert computed("glue", FOUND, TRUTH, "mrpc") == computed("glue", FOUND, TRUTH, "qqp") == both
        for task in ("sst2", "mnli", "mnli_matched", "mnli_mismatched", "qnli", "rte", "wnli", "hans"):
            assert computed("glue", FOUND, TRUTH, task) == {"accuracy": both["accuracy"]}
        assert computed("xnli", FOUND, TRUTH) == {"accuracy": both["accuracy"]}


def test_correlations_against_scipy() -> None:
    pearson, spearman = stats.pearsonr(NUMBERS, NEARBY), stats.spearmanr(NUMBERS, NEARBY)
    close = {"pearson": pytest.approx(pearson[0], rel=1e-5), "spearmanr": pytest.approx(spearman[0], rel=1e-5)}
    assert computed("glue", NEARBY, NUMBERS, "stsb") == close
    assert computed("pearsonr", NEARBY, NUMBERS) == {"pearsonr": close["pearson"]}
    found = computed("spearmanr", NEARBY, NUMBERS, return_pvalue=True)
    assert found == {"spearmanr": close["spearmanr"], "spearmanr_pvalue": pytest.approx(spearman[1], rel=1e-4)}
    assert np.isnan(computed("pearsonr", [1.0, 1.0], [0.0, 1.0])["pearsonr"])


def test_options_of_scikit_learn_pass_through() -> None:
    weights = DRAW.random(60)
    wanted = learn.f1_score(TRUTH, FOUND, sample_weight=weights)
    assert computed("f1", FOUND, TRUTH, sample_weight=weights)["f1"] == pytest.approx(wanted)
    several = DRAW.integers(0, 2, (20, 3)), DRAW.integers(0, 2, (20, 3))
    wanted = learn.f1_score(several[1], several[0], average="micro")
    assert computed("f1", *several, "multilabel", average="micro")["f1"] == pytest.approx(wanted)


def test_option_that_needs_scikit_learn_is_refused_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "_scikit_learn", lambda: None)
    with pytest.raises(PippinError, match="sample_weight=.*pip install scikit-learn"):
        computed("f1", FOUND, TRUTH, sample_weight=[1] * 60)


def test_rows_may_come_one_by_one_and_are_forgotten_then() -> None:
    import torch

    metric = load_local("accuracy")
    metric.add(prediction=1, reference=1)
    metric.add_batch(predictions=torch.tensor([0, 1]), references=[0, 0])
    assert metric.compute() == {"accuracy": pytest.approx(2 / 3)}
    assert metric.compute(predictions=[1], references=[1]) == {"accuracy": 1.0}


def test_wrong_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="2 predictions, but 1 references"):
        computed("accuracy", [1, 2], [1])
    with pytest.raises(ValueError, match="argmax"):
        computed("accuracy", np.zeros((3, 2)), [0, 0, 0])


def test_stand_in_for_evaluate_has_load_and_combine(capsys: pytest.CaptureFixture[str]) -> None:
    spec = EvaluateStandIn().find_spec("evaluate", None)
    assert spec is not None
    evaluate: Any = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(evaluate)
    assert EvaluateStandIn().find_spec("datasets", None) is None
    assert evaluate.load("accuracy").compute(predictions=[1], references=[1]) == {"accuracy": 1.0}
    assert evaluate.combine(["accuracy", "f1"]).compute(predictions=[1, 0], references=[1, 1]).keys() == {
        "accuracy",
        "f1",
    }
    assert "pippin: the package evaluate is not installed" in capsys.readouterr().err
    with pytest.raises(PippinError, match="pip install evaluate"):
        evaluate.load("rouge")


def test_combined_metrics_of_one_name_are_told_apart() -> None:
    both = LocalMetrics({"mine": load_local("accuracy"), "yours": load_local("xnli")})
    both.add_batch(predictions=[1, 0], references=[1, 1])
    both.add(prediction=1, reference=1)
    assert both.compute() == {"mine_accuracy": pytest.approx(2 / 3), "yours_accuracy": pytest.approx(2 / 3)}
