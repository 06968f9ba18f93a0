"""TensorBoard for real: written by a run, read back with TensorBoard's own reader."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest

from pippin.report.progress import TrainingProgress
from pippin.report.trackers.tensorboard import start
from pippin.report.trackers.tracker import Beginning

event_accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def read(folder: Path):
    """All that TensorBoard would show of a folder."""
    reader = event_accumulator.EventAccumulator(str(folder))
    reader.Reload()
    return reader


def curve(reader, name: str) -> dict[int, float]:
    return {event.step: event.value for event in reader.Scalars(name)}


def logged(folder: str) -> Path:
    (only,) = Path(folder, "tensorboard").iterdir()
    return only


def test_a_run_is_shown_under_hugging_faces_names(train, word_file):
    _, results = train(
        word_file, "--report_to", "tensorboard", "--logging_steps", 2, "--token", "hf_secretsecretsecret"
    )
    reader = read(logged("run"))
    lines = [json.loads(line) for line in Path("run/events.jsonl").read_text().splitlines()]
    losses = {line["step"]: line["loss"] for line in lines if line["event"] == "log"}
    assert curve(reader, "train/loss") == pytest.approx(losses)
    for name in ("train/grad_norm", "train/learning_rate", "train/samples_per_second", "train/epoch"):
        assert losses.keys() <= curve(reader, name).keys(), name
    assert curve(reader, "eval/accuracy")[4] == pytest.approx(results["eval_accuracy"])
    assert curve(reader, "train/train_loss") == {4: pytest.approx(results["train_loss"])}
    assert "train/seconds_left" not in reader.Tags()["scalars"]
    (settings,) = reader.Tensors("args/text_summary")
    text = settings.tensor_proto.string_val[0].decode()
    assert '"max_steps": 4' in text
    assert '"learning_rate": ' in text, "what the plan chose is there as well"
    assert "secret" not in text


def test_a_run_that_goes_on_is_one_run(train, run_cli, word_file, monkeypatch):
    shown = TrainingProgress.on_event
    signals = [signal.SIGTERM]

    def stop_at_four(self, name, figures):
        shown(self, name, figures)
        if name == "log" and figures["step"] == 4 and signals:
            signal.raise_signal(signals.pop())

    monkeypatch.setattr(TrainingProgress, "on_event", stop_at_four)
    with pytest.raises(AssertionError, match="stopped after step 4"):
        train(word_file, "--report_to", "tensorboard", "--logging_steps", 2, steps=8)
    code, _, error = run_cli("resume", "run")
    assert code == 0, error
    assert list(curve(read(logged("run")), "train/loss")) == [2, 4, 6, 8]


def test_a_run_that_begins_again_hides_what_it_had(command, interrupt, run_cli):
    interrupt(6)
    command("run", "--report_to", "tensorboard", "--max_steps", 9)
    shutil.rmtree("run/checkpoints")
    interrupt(-1)
    code, out, error = run_cli("resume", "run")
    assert code == 0, error
    assert "starting over" in out
    assert list(curve(read(logged("run")), "train/loss")) == [3, 6, 9]


def test_no_point_stands_twice(command):
    command("run", "--report_to", "tensorboard")
    reader = read(logged("run"))
    for name in reader.Tags()["scalars"]:
        steps = [event.step for event in reader.Scalars(name)]
        assert len(steps) == len(set(steps)), name


def test_what_was_logged_after_the_checkpoint_is_hidden(tmp_path):
    def run(step: int | None, figures: dict[int, float]) -> None:
        tracker = start(Beginning("run", "project", tmp_path / "logs", {}, step))
        for at, loss in figures.items():
            tracker.log({"loss": loss}, at)
        tracker.close("interrupted")

    run(None, {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0})
    run(2, {3: 30.0})
    assert curve(read(tmp_path / "logs"), "train/loss") == {1: 1.0, 2: 2.0, 3: 30.0}


@pytest.mark.parametrize("way", ["flag", "variable"])
def test_the_folder_can_be_named(train, word_file, monkeypatch, way):
    flags = ["--logging_dir", "logs"] if way == "flag" else []
    if way == "variable":
        monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", "logs")
    train(word_file, "--report_to", "tensorboard", *flags, steps=1)
    assert curve(read(Path("logs")), "train/loss").keys() == {1}
    assert not Path("run/tensorboard").exists()


def test_a_run_in_the_place_of_another_is_not_mixed_with_it(train, word_file, monkeypatch):
    times = iter(["2030-01-01T10:00:00+00:00", "2030-01-01T10:00:05+00:00"])
    monkeypatch.setattr("pippin.commands.train.now", lambda: next(times))
    for _ in range(2):
        train(word_file, "--report_to", "tensorboard", "--overwrite_output_dir", steps=1)
    folders = sorted(Path("run/tensorboard").iterdir())
    assert [folder.name for folder in folders] == ["2030-01-01T10-00-00", "2030-01-01T10-00-05"]
    assert [len(read(folder).Scalars("train/loss")) for folder in folders] == [1, 1]
