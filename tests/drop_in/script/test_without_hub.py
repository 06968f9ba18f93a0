"""What scripts fetch from the Hub, when it cannot be asked: whose metric and whose rows they get."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pippin.data.tables import Table
from pippin.drop_in.script import glue, metric_loading, reach
from pippin.drop_in.script.metrics import LocalMetric
from pippin.errors import PippinError
from pippin.tasks.sequence import sources


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Says whether the Hub answers."""

    def answer(reason: str | None) -> None:
        for module in (glue, metric_loading):
            monkeypatch.setattr(module, "why_no_hub", lambda: reason)

    return answer


def library(**functions: Any) -> Any:
    module = ModuleType("made_up")
    vars(module).update(functions)
    return module


def fail(*arguments: object, **named: object) -> None:
    raise ConnectionError("Couldn't reach it\nat all")


def test_metric_is_evaluates_own_where_that_can_be_had(hub, capsys: pytest.CaptureFixture[str]) -> None:
    module = library(load=lambda path, config=None, **named: f"theirs: {path}")
    metric_loading._load_without_hub(module)
    hub(None)
    assert module.load("accuracy") == "theirs: accuracy"
    hub("HF_HUB_OFFLINE=1")
    assert isinstance(module.load("accuracy", keep_in_memory=True), LocalMetric)
    assert module.load("rouge") == "theirs: rouge"  # none of ours
    assert module.load("glue") == "theirs: glue"  # which task?
    Path("accuracy").mkdir()
    Path("accuracy/accuracy.py").touch()
    assert module.load("accuracy") == "theirs: accuracy"  # the user's own file
    assert capsys.readouterr().err.count("evaluate.load('accuracy')") == 1


def test_metric_is_ours_where_evaluate_fails(hub, capsys: pytest.CaptureFixture[str]) -> None:
    module = library(load=fail)
    metric_loading._load_without_hub(module)
    hub(None)
    assert module.load("glue", "rte").compute(predictions=[1], references=[1]) == {"accuracy": 1.0}
    assert "since evaluate could not load it (Couldn't reach it)." in capsys.readouterr().err
    with pytest.raises(ConnectionError):
        module.load("rouge")


def test_rows_of_glue_come_from_the_hubs_cache(hub, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    columns = {"premise": ["a", "b"], "hypothesis": ["c", "d"], "label": [2, 0], "idx": [7, 9]}
    tables = {name: Table(columns, name) for name in ("train", "validation_matched", "validation_mismatched")}
    monkeypatch.setattr(sources, "task_from_hub", lambda *arguments: tables)
    module = library(load_dataset=fail)
    glue._load_without_hub(module, None)
    hub("the Hub cannot be reached")
    rows = module.load_dataset("nyu-mll/glue", "mnli", cache_dir=None, token=None)
    assert isinstance(rows, datasets.DatasetDict)
    assert list(rows) == ["train", "validation_matched", "validation_mismatched"]
    assert rows["train"].features["label"].names == ["entailment", "neutral", "contradiction"]
    assert rows["train"][0] == {"premise": "a", "hypothesis": "c", "label": 2, "idx": 7}
    assert len(module.load_dataset("glue", "mnli", split="train")) == 2
    with pytest.raises(PippinError, match=r"split='train\[:1\]'.*validation_matched"):
        module.load_dataset("glue", "mnli", split="train[:1]")
    with pytest.raises(ConnectionError):
        module.load_dataset("imdb")


def test_rows_that_are_nowhere_are_said(hub, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets")

    def none_there(*arguments: object) -> None:
        raise PippinError("none")

    monkeypatch.setattr(sources, "task_from_hub", none_there)
    module = library(load_dataset=fail)
    glue._load_without_hub(module, None)
    hub("HF_HUB_OFFLINE=1")
    with pytest.raises(PippinError, match="no copy of it is on this computer, and HF_HUB_OFFLINE=1.*--data_dir FOLDER"):
        module.load_dataset("glue", "rte")


def test_rows_are_the_librarys_where_it_has_them(hub) -> None:
    pytest.importorskip("datasets")
    module = library(load_dataset=lambda path, name=None, **named: f"theirs: {path}")
    glue._load_without_hub(module, None)
    for reason in (None, "HF_HUB_OFFLINE=1"):
        hub(reason)
        assert module.load_dataset("glue", "mrpc") == "theirs: glue"


def test_why_there_is_no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in reach._OFFLINE_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "yes")
    assert reach.why_no_hub.__wrapped__() == "HF_DATASETS_OFFLINE=yes"
    monkeypatch.delenv("HF_DATASETS_OFFLINE")
    assert reach.why_no_hub.__wrapped__() == "the Hub cannot be reached"  # the tests' own network refuses
