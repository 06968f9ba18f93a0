"""Trackers beside a run: what they are told, and that nothing they do touches the run."""

from __future__ import annotations

import json
import sys
import threading
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

import pippin
from pippin.errors import Mistakes, PippinError
from pippin.recipe.reading import recipe_from
from pippin.report.progress import TrainingProgress
from pippin.report.trackers import trackers
from pippin.report.trackers.installed import check_installed
from pippin.report.trackers.tracker import Beginning
from pippin.report.trackers.worker import Worker


class Recorder:
    """A tracker that keeps what it is told, and can be made to fail or to wait."""

    def __init__(self, run: Beginning, told: list[tuple], fails_at: str, waits_for: threading.Event | None):
        self.told, self.fails_at, self.waits_for = told, fails_at, waits_for
        self.id = run.before or f"id-{len(told)}"
        self._do("start", run)

    def log(self, figures, step):
        self._do("log", step, figures)

    def close(self, ending):
        self._do("close", ending)

    def _do(self, what, *details):
        self.told.append((what, *details))
        if self.waits_for is not None and what != "start":
            self.waits_for.wait()
        if what == self.fails_at:
            raise ConnectionError(f"no route to https://me:password@host in {what}\nmore of it")


def beginning() -> Beginning:
    return Beginning("run", "project", Path("logs"), {})


@pytest.fixture
def tool(monkeypatch):
    """Put a Recorder in the place of wandb's file."""

    def put(fails_at: str = "", waits_for: threading.Event | None = None) -> list[tuple]:
        told: list[tuple] = []
        module = ModuleType("pippin.report.trackers.wandb")
        module.start = lambda run: Recorder(run, told, fails_at, waits_for)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        library = ModuleType("wandb")
        library.__spec__ = ModuleSpec("wandb", None, origin="stand-in")
        monkeypatch.setitem(sys.modules, "wandb", library)
        return told

    return put


def endings(told: list[tuple]) -> list[str]:
    return [entry[1] for entry in told if entry[0] == "close"]


def test_a_run_tells_its_tracker_everything(train, tool, word_file):
    told = tool()
    out, results = train(word_file, "--report_to", "wandb", "--run_name", "zoo", "--logging_steps", 2)
    assert "wandb" not in out
    run = told[0][1]
    assert (run.name, run.project, run.step, run.before) == ("zoo", "huggingface", None, None)
    assert run.settings["max_steps"] == 4
    assert run.settings["per_device_train_batch_size"] > 0
    assert [entry[1] for entry in told if entry[0] == "log"] == [2, 4, 4, 4]
    last = {name: value for entry in told if entry[0] == "log" and entry[1] == 4 for name, value in entry[2].items()}
    clocks = {name for name in results if name.startswith("eval_") and name.endswith(("runtime", "per_second"))}
    assert {name: last[name] for name in results.keys() - clocks} == pytest.approx(
        {name: results[name] for name in results.keys() - clocks}
    )
    assert endings(told) == ["finished"]
    assert json.loads(Path("run/trackers.json").read_text()) == {"wandb": "id-0"}


@pytest.mark.parametrize("fails_at", ["", "start"])
def test_a_run_waits_no_longer_than_it_must(fails_at):
    worker = Worker(lambda run: Recorder(run, [], fails_at, None), beginning())
    assert worker.wait_until_open(20.0)
    worker.close("finished")
    assert worker.wait(20.0)


def test_no_secret_is_told(train, tool, word_file):
    told = tool()
    secret = "hf_" + "a" * 30
    train(word_file, "--report_to", "wandb", "--run_name", f"with {secret}", "--token", secret, steps=1)
    assert told[0][1].name == "with ***"
    assert secret not in str(told[0][1].settings)


def test_an_interrupted_run_goes_on_in_the_same_tracker_run(train, run_cli, tool, word_file, monkeypatch):
    told = tool()
    shown = TrainingProgress.on_event
    stops = [KeyboardInterrupt]

    def stop_once(self, name, figures):
        shown(self, name, figures)
        if name == "log" and figures["step"] == 4 and stops:
            raise stops.pop()

    monkeypatch.setattr(TrainingProgress, "on_event", stop_once)
    with pytest.raises(AssertionError, match="stopped at once"):
        train(word_file, "--report_to", "wandb", "--logging_steps", 2, "--save_steps", 2, steps=6)
    assert endings(told) == ["interrupted"]
    assert run_cli("resume", "run")[0] == 0
    again = [entry[1] for entry in told if entry[0] == "start"][1]
    assert (again.before, again.step) == ("id-0", 2)
    assert endings(told) == ["interrupted", "finished"]


def test_a_run_that_fails_is_closed_as_failed(run_cli, tool, word_file, tiny_model, monkeypatch):
    told = tool()
    monkeypatch.setattr("pippin.runs.folder.RunFolder.install", lambda *_: (_ for _ in ()).throw(PippinError("x")))
    flags = ["--model_name_or_path", tiny_model, "--output_dir", "run", "--max_steps", 1, "--report_to", "wandb"]
    assert run_cli("train", word_file, *flags)[0] == 2
    assert endings(told) == ["failed"]


@pytest.mark.parametrize("fails_at", ["start", "log", "close"])
def test_a_tracker_that_fails_is_told_once_and_left_out(train, tool, word_file, fails_at):
    told = tool(fails_at)
    out, results = train(word_file, "--report_to", "wandb", "--logging_steps", 1)
    assert results["epoch"] > 0
    assert out.count("wandb failed") == 1
    assert f"warning: wandb failed (no route to https://***@host in {fails_at}): the run goes on without it" in out
    assert "more of it" not in out
    assert sum(entry[0] == fails_at for entry in told) == 1


def test_a_tracker_that_hangs_holds_nothing_up(train, tool, word_file, monkeypatch):
    never = threading.Event()
    told = tool(waits_for=never)
    monkeypatch.setattr(trackers, "_TO_FINISH", 0.0)
    out, _ = train(word_file, "--report_to", "wandb", "--logging_steps", 1)
    assert "warning: wandb has not taken all figures yet, and is not waited for" in out
    assert [entry[:2] for entry in told[1:]] == [("log", 1)], "it is still at the first"
    never.set()


def test_evaluation_alone_is_tracked_too(train, run_cli, tool, word_file):
    train(word_file, steps=1)
    told = tool()
    flags = ["--do_eval", "--validation_file", word_file, "--model_name_or_path", "run", "--output_dir", "judged"]
    code, _, error = run_cli("train", *flags, "--report_to", "wandb")
    assert code == 0, error
    assert [entry[:2] for entry in told] == [("start", told[0][1]), ("log", 0), ("close", "finished")]
    assert "eval_accuracy" in told[1][2]


def test_nothing_is_tracked_unless_asked_for(train, word_file):
    train(word_file, "--report_to", "none", steps=1)
    assert not Path("run/trackers.json").exists()
    assert threading.active_count() == len([thread for thread in threading.enumerate() if "tracker" not in thread.name])


def test_what_is_not_installed_is_refused_before_anything_is_read(run_cli, monkeypatch):
    for name in ("wandb", "trackio"):
        monkeypatch.setitem(sys.modules, name, None)
    code, out, error = run_cli("train", "no-such-file.csv", "--report_to", "wandb,trackio", "--seed", "x")
    assert (code, out) == (2, "")
    assert "wandb and trackio are not installed. Type: pip install wandb trackio" in error
    assert "no-such-file" not in error
    with pytest.raises(PippinError, match="wandb is not installed. Type: pip install wandb$"):
        pippin.train("no-such-file.csv", report_to="wandb")


def test_a_folder_that_a_tool_left_is_no_library(tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "trackio", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    (tmp_path / "trackio").mkdir()
    with pytest.raises(PippinError, match="pip install trackio"):
        check_installed(("trackio",))


def test_names():
    assert recipe_from({"report_to": "none"}).recipe.report_to is None
    assert recipe_from({"report_to": []}).recipe.report_to == ()
    assert recipe_from({"report_to": ["tensorboard", "mlflow"]}).recipe.report_to == ("tensorboard", "mlflow")
    listed = "is not one of tensorboard, wandb, mlflow, trackio, none."
    with pytest.raises(Mistakes, match=f"report_to: 'all' {listed}"):
        recipe_from({"report_to": "all"})
    with pytest.raises(Mistakes, match=f"report_to: 'comet' {listed}"):
        recipe_from({"report_to": "wandb,comet"})


@pytest.mark.parametrize("lonely", [{"logging_dir": "logs"}, {"project": "zoo"}])
def test_settings_of_trackers_that_are_not_asked_for(lonely):
    (note,) = recipe_from(lonely).notes
    assert note.startswith(f"{next(iter(lonely))} has no effect without --report_to ")
    assert recipe_from({**lonely, "report_to": "tensorboard,wandb"}).notes == ()
