"""wandb, mlflow and trackio, against stand-ins that take calls as the documentation of each says."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pippin.report.trackers import mlflow, trackio, wandb
from pippin.report.trackers.tracker import Beginning

LOG = {"loss": 0.5, "epoch": 0.25, "learning_rate": 1e-4}
RESULTS = {"eval_accuracy": 0.75, "test_accuracy": 0.5, "train_runtime": 9.0, "epoch": 1.0}
SETTINGS = {"learning_rate": 1e-4, "model": "tiny"}


def beginning(**changes) -> Beginning:
    return Beginning(**{"name": "words", "project": "zoo", "logging_dir": None, "settings": SETTINGS, **changes})


def install(monkeypatch, name: str, **contents) -> list[tuple]:
    """A module of that name; returns the list of calls that it gets."""
    module = ModuleType(name)
    module.__spec__ = ModuleSpec(name, None, origin="stand-in")
    for key, value in contents.items():
        setattr(module, key, value)
    monkeypatch.setitem(sys.modules, name, module)
    return contents["calls"]


@pytest.fixture
def wandb_calls(monkeypatch) -> list[tuple]:
    calls: list[tuple] = []

    class Config(dict):
        def update(self, d, allow_val_change=None):
            calls.append(("config", d, allow_val_change))

    class Run:
        def __init__(self, run_id: str):
            self.id, self.config, self.summary = run_id, Config(), dict[str, Any]()

        def define_metric(self, name, step_metric=None, step_sync=None, hidden=None, summary=None, goal=None):
            calls.append(("define_metric", name, step_metric))

        def log(self, data, step=None, commit=None):
            calls.append(("log", data))

        def finish(self, exit_code=None, quiet=None):
            calls.append(("finish", exit_code, self.summary))

    def init(entity=None, project=None, dir=None, id=None, name=None, config=None, mode=None, resume=None):
        calls.append(("init", project, name, id, resume))
        return Run(id or "made-up")

    return install(monkeypatch, "wandb", calls=calls, init=init, run=None, Run=Run)


def test_wandb(wandb_calls, monkeypatch):
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    tracker = wandb.start(beginning())
    tracker.log(LOG, 3)
    tracker.log(RESULTS, 9)
    tracker.close("finished")
    assert tracker.id == "made-up"
    assert wandb_calls == [
        ("init", "zoo", "words", None, None),
        ("config", SETTINGS, True),
        ("define_metric", "train/global_step", None),
        ("define_metric", "*", "train/global_step"),
        ("log", {"train/loss": 0.5, "train/epoch": 0.25, "train/learning_rate": 1e-4, "train/global_step": 3}),
        ("log", {"eval/accuracy": 0.75, "test/accuracy": 0.5, "train/epoch": 1.0, "train/global_step": 9}),
        ("finish", 0, {"train_runtime": 9.0}),
    ]


@pytest.mark.parametrize("ending", ["interrupted", "failed"])
def test_wandb_goes_on_and_ends_badly(wandb_calls, monkeypatch, ending):
    monkeypatch.setenv("WANDB_PROJECT", "mine")
    wandb.start(beginning(step=4, before="abc")).close(ending)
    assert wandb_calls[0] == ("init", "mine", "words", "abc", "allow")
    assert wandb_calls[-1] == ("finish", 1, {})


def test_a_run_of_wandb_that_the_program_has_open_stays_open(wandb_calls):
    library: Any = sys.modules["wandb"]
    library.run = library.Run("theirs")
    tracker = wandb.start(beginning())
    tracker.log(LOG, 1)
    tracker.close("finished")
    assert [call[0] for call in wandb_calls] == ["config", "define_metric", "define_metric", "log"]
    assert tracker.id is None, "it is not ours to go on with"


@pytest.fixture
def mlflow_calls(monkeypatch) -> list[tuple]:
    calls: list[tuple] = []

    def start_run(run_id=None, experiment_id=None, run_name=None, nested=False, tags=None, description=None):
        calls.append(("start_run", run_id, run_name))
        return SimpleNamespace(info=SimpleNamespace(run_id=run_id or "made-up"))

    def log_params(params, synchronous=None, run_id=None):
        assert len(params) <= 100
        assert all(len(value) <= 250 for value in params.values())
        calls.append(("log_params", params))

    def log_metrics(metrics, step=None, synchronous=None, run_id=None):
        calls.append(("log_metrics", metrics, step))

    def end_run(status="FINISHED"):
        calls.append(("end_run", status))

    functions = {"start_run": start_run, "log_params": log_params, "log_metrics": log_metrics, "end_run": end_run}
    return install(monkeypatch, "mlflow", calls=calls, **functions)


def test_mlflow(mlflow_calls):
    settings = {f"setting {number}": number for number in range(120)} | {"long": "x" * 400}
    tracker = mlflow.start(beginning(settings=settings))
    tracker.log({**LOG, "eval_f1(macro)": 0.5}, 3)
    tracker.close("finished")
    assert tracker.id == "made-up"
    assert mlflow_calls[0] == ("start_run", None, "words")
    said = mlflow_calls[1][1] | mlflow_calls[2][1]
    assert len(said) == 121
    assert said["setting 119"] == "119"
    assert mlflow_calls[3:] == [
        ("log_metrics", {**LOG, "eval_f1_macro_": 0.5}, 3),
        ("end_run", "FINISHED"),
    ]


@pytest.mark.parametrize(("ending", "status"), [("interrupted", "KILLED"), ("failed", "FAILED")])
def test_mlflow_goes_on_without_saying_settings_twice(mlflow_calls, ending, status):
    mlflow.start(beginning(step=4, before="abc")).close(ending)
    assert mlflow_calls == [("start_run", "abc", "words"), ("end_run", status)]


@pytest.fixture
def trackio_calls(monkeypatch) -> list[tuple]:
    calls: list[tuple] = []

    def init(project, name=None, group=None, space_id=None, config=None, resume="never"):
        calls.append(("init", project, name, config, resume))
        taken = resume == "never" and name == "taken"
        return SimpleNamespace(name="another" if taken else name)

    def log(metrics, step=None):
        calls.append(("log", metrics, step))

    def finish():
        calls.append(("finish",))

    return install(monkeypatch, "trackio", calls=calls, init=init, log=log, finish=finish)


def test_trackio(trackio_calls):
    tracker = trackio.start(beginning(name="taken"))
    tracker.log(LOG, 3)
    tracker.close("finished")
    assert tracker.id == "another", "the name that it gave the run"
    logged = {"train/loss": 0.5, "train/epoch": 0.25, "train/learning_rate": 1e-4, "train/global_step": 3}
    assert trackio_calls == [("init", "zoo", "taken", SETTINGS, "never"), ("log", logged, 3), ("finish",)]
    trackio.start(beginning(before="another", step=3))
    assert trackio_calls[-1] == ("init", "zoo", "another", SETTINGS, "allow")
