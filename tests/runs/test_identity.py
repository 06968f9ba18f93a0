"""What a resumed run trusts: its checkpoints, which carry all that the rest of the run depends on, and nothing else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from runs_helpers import story, weights

from helpers import events, make_rows


@pytest.fixture
def stopped(command, interrupt):
    """A run that stopped at step 18 of 42, and one that did not."""
    assert command("whole")[0] == 0
    interrupt(18)
    assert command("run")[0] == 143
    interrupt(-1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"weight_decay": 0.0', '"weight_decay": 0.5'),
        ('"adam_beta1": 0.9', '"adam_beta1": 0.1'),
        ('"adam_epsilon": 1e-08', '"adam_epsilon": 1e-02'),
        ('"label_smoothing_factor": 0.0', '"label_smoothing_factor": 0.3'),
        ('"seed": 42', '"seed": 43'),
        ('"status": "interrupted"', '"status": "finished"'),
        ('"id": "', '"id": "x'),
    ],
)
def test_a_changed_record_changes_nothing(stopped, run_cli, old, new):
    record = Path("run/run.json")
    assert old in record.read_text()
    record.write_text(record.read_text().replace(old, new))
    code, out, error = run_cli("resume", "run")
    assert code == 0, error
    assert "resuming from step-18" in out
    assert weights("run") == weights("whole")
    assert story("run") == story("whole")


@pytest.mark.parametrize("damage", ["gone", "garbage", "a folder"])
def test_a_lost_record_does_not_lose_the_checkpoints(stopped, run_cli, damage):
    Path("run/run.json").unlink()
    if damage == "garbage":
        Path("run/run.json").write_bytes(b"\xff\x00{")
    elif damage == "a folder":
        Path("run/run.json").mkdir()
        Path("run/run.json/mine").write_text("mine")
    code, out, error = run_cli("resume", "run")
    if damage == "a folder":
        assert code == 2
        assert "run.json" in error
        assert Path("run/run.json/mine").read_text() == "mine"
        return
    assert code == 0, error
    assert weights("run") == weights("whole")


def test_without_the_model_that_it_began_with(stopped, run_cli, tiny_model, tmp_path, word_file, command, interrupt):
    """Its configuration changed, or all of it gone: a checkpoint has its own."""
    base = tmp_path / "base"
    shutil.copytree(tiny_model, base)
    words = ["train", word_file, "--model_name_or_path", "base", "--num_train_epochs", 3, "--learning_rate", "3e-3",
             "--per_device_train_batch_size", 8, "--logging_steps", 3, "--output_dir"]  # fmt: skip
    interrupt(18)
    assert run_cli(*words, "mine")[0] == 143
    shutil.copytree("mine", "other")
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**config, "hidden_dropout_prob": 0.5, "layer_norm_eps": 0.1}))
    code, _, error = run_cli("resume", "mine")
    assert code == 0, error
    assert weights("mine") == weights("whole")
    shutil.rmtree(base)
    code, _, error = run_cli("resume", "other")
    assert code == 0, error
    assert weights("other") == weights("whole")


def test_from_another_folder(run_cli, tiny_model, write_rows, interrupt, monkeypatch, tmp_path):
    """The record says where its relative paths start."""
    write_rows("words.csv", make_rows(120))
    interrupt(6)
    words = ["--model_name_or_path", tiny_model, "--max_steps", 12, "--logging_steps", 3, "--output_dir", "run"]
    assert run_cli("train", "words.csv", *words)[0] == 143
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    code, _, error = run_cli("resume", "../run")
    assert code == 0, error


def test_a_checkpoint_of_another_run_is_passed_over(stopped, command, interrupt, run_cli):
    interrupt(30)
    command("other", "--seed", 7)
    shutil.copytree("other/checkpoints/step-30", "run/checkpoints/step-30")
    code, out, error = run_cli("resume", "run")
    assert code == 0, error
    assert "skipped step-30: it belongs to another run" in out
    assert weights("run") == weights("whole")
    assert Path("run/checkpoints/step-30/model.safetensors").exists(), "it is somebody's"


def test_a_named_checkpoint_of_a_run_on_other_rows(stopped, run_cli, write_rows, tiny_model):
    rows = write_rows("other.csv", make_rows(120, seed=9))
    words = ["--model_name_or_path", tiny_model, "--num_train_epochs", 3, "--learning_rate", "3e-3",
             "--per_device_train_batch_size", 8, "--resume_from_checkpoint", "run/checkpoints/step-18"]  # fmt: skip
    code, _, error = run_cli("train", rows, *words, "--output_dir", "new")
    assert code == 2
    assert "rows, or the classes" in error
    assert not Path("new").exists()
    code, _, error = run_cli("train", rows, *words, "--output_dir", "whole")
    assert code == 2
    assert "belongs to another run" in error


def test_extra_files_in_a_checkpoint_are_not_read(stopped, run_cli):
    from safetensors.torch import load_file, save_file

    path = Path("run/checkpoints/step-18")
    other = {name: torch.zeros_like(tensor) for name, tensor in load_file(path / "model.safetensors").items()}
    save_file(other, path / "zz.safetensors")
    (path / "._model.safetensors").write_bytes(b"\0\5\26\7")
    code, _, error = run_cli("resume", "run")
    assert code == 0, error
    assert weights("run") == weights("whole")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--adam_beta1", 0.8], "adam_beta1 0.9 → 0.8"),
        (["--adam_epsilon", 1e-6], "adam_epsilon 1e-08 → 1e-06"),
        (["--lr_scheduler_type", "polynomial", "--lr_scheduler_kwargs", '{"power": 2.0}'], "'power': 2.0"),
        (["--greater_is_better", "false", "--load_best_model_at_end"], "load_best_model_at_end False → True"),
    ],
)
def test_every_setting_that_is_applied_is_said(stopped, run_cli, flags, words):
    code, out, error = run_cli("resume", "run", *flags)
    assert code == 0, error
    assert "from here on:" in out
    assert words in out


def test_other_arithmetic_is_said(stopped, run_cli, monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "ABACUS")
    code, out, error = run_cli("resume", "run")
    assert code == 0, error
    assert "last digits of the results may differ" in out
    assert "→ ABACUS" in out


def test_as_many_threads_as_it_began_with(stopped, run_cli, monkeypatch):
    """Unless the environment says otherwise, which is said."""
    seen = []
    train = torch.nn.Module.train

    def look(self, mode=True):
        seen.append(torch.get_num_threads())
        return train(self, mode)

    monkeypatch.setattr(torch.nn.Module, "train", look)
    own = torch.get_num_threads()
    shutil.copytree("run", "again")
    torch.set_num_threads(own + 1)
    try:
        monkeypatch.setenv("OMP_NUM_THREADS", str(own + 1))
        code, out, _ = run_cli("resume", "again")
        assert code == 0
        assert f"threads {own} → {own + 1}" in out
        assert seen[-1] == own + 1
        monkeypatch.delenv("OMP_NUM_THREADS")
        code, out, _ = run_cli("resume", "run")
        assert code == 0
        assert "last digits" not in out
        assert seen[-1] == own
        assert torch.get_num_threads() == own + 1
        assert weights("run") == weights("whole")
    finally:
        torch.set_num_threads(own)


def test_killed_after_training_it_is_not_done_again(command, run_cli, monkeypatch):
    """The model is in the folder: only what comes after is left, also where the model that it began with is gone."""
    from pippin.engine.session import Session

    def fail(self):
        raise RuntimeError("the power is gone")

    command("whole")
    with monkeypatch.context() as patched:
        patched.setattr(Session, "evaluate_all", fail)
        assert command("run")[0] == 2
    assert weights("run") == weights("whole")
    monkeypatch.setattr("pippin.engine.session.train", lambda *_: pytest.fail("trained again"))
    code, out, error = run_cli("resume", "run")
    assert code == 0, error
    assert "resuming after training" in out
    whole, parts = (json.loads(Path(name, "all_results.json").read_text()) for name in ("whole", "run"))
    for key in ("train_loss", "eval_loss", "eval_accuracy", "epoch", "total_flos"):
        assert whole[key] == parts[key], key
    assert story("run") == story("whole")
    assert Path("run/README.md").exists()


def test_after_training_nothing_of_it_can_change(command, run_cli, monkeypatch):
    from pippin.engine.session import Session

    with monkeypatch.context() as patched:
        patched.setattr(Session, "evaluate_all", lambda self: 1 / 0)
        assert command("run")[0] == 2
    code, _, error = run_cli("resume", "run", "--num_train_epochs", 5)
    assert code == 2
    assert "its training is done" in error


def test_each_save_is_told_once(command, interrupt, run_cli):
    interrupt(18)
    command("run", "--save_steps", 6, "--save_total_limit", 9)
    interrupt(27)
    run_cli("resume", "run")
    interrupt(-1)
    assert run_cli("resume", "run")[0] == 0
    assert [event["step"] for event in events("run", "saved")] == [6, 12, 18, 24, 27, 30, 36, 42]


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_bad_byte_in_the_log_stops_nothing(stopped, run_cli, place):
    path = Path("run/events.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    bad = b"\xff\xfe{\x00\n"
    path.write_bytes(
        b"".join([bad[:-1] + lines[0][len(bad) - 1 :], *lines[1:]] if place == "before" else [*lines, bad])
    )
    code, out, error = run_cli("report", "run")
    assert code == 0, error
    assert "1 line" in error + out
    code, _, error = run_cli("resume", "run")
    assert code == 0, error
    assert weights("run") == weights("whole")


def test_a_log_that_was_cut_is_written_on(stopped, run_cli):
    Path("run/events.jsonl").write_text("")
    code, _, error = run_cli("resume", "run")
    assert code == 0, error
    assert b"\0" not in Path("run/events.jsonl").read_bytes()
    assert [line for line in story("whole") if line[1] > 18] == story("run")


def test_checkpoints_on_another_disk_are_found(stopped, run_cli, tmp_path):
    elsewhere = tmp_path / "disk"
    shutil.move("run/checkpoints", elsewhere)
    Path("run/checkpoints").symlink_to(elsewhere)
    code, out, error = run_cli("resume", "run")
    assert code == 0, error
    assert "resuming from step-18" in out
    assert weights("run") == weights("whole")


def test_a_link_to_anywhere_else_is_refused_in_words(stopped, run_cli, tmp_path):
    shutil.rmtree("run/checkpoints")
    (tmp_path / "mine").mkdir()
    Path("run/checkpoints").symlink_to(tmp_path / "mine")
    code, _, error = run_cli("resume", "run")
    assert code == 2
    assert "run/checkpoints is a link" in error
    assert not any((tmp_path / "mine").iterdir())


def test_it_resumes_on_the_disk_that_it_fitted_on(command, interrupt, run_cli, monkeypatch):
    """The room of checkpoints that are there is not asked for again."""
    from pippin.commands import train

    asked = []
    monkeypatch.setattr(train, "room_needed", lambda model, kept: asked.append(kept) or 1000)
    monkeypatch.setattr(train, "free_bytes", lambda path: 1000)
    interrupt(18)
    assert command("run")[0] == 143
    taken = sum(path.stat().st_size for path in Path("run/checkpoints").rglob("*") if path.is_file())
    monkeypatch.setattr(train, "free_bytes", lambda path: 1000 - taken)
    code, _, error = run_cli("resume", "run")
    assert code == 0, error
    monkeypatch.setattr(train, "free_bytes", lambda path: 999)
    code, _, error = command("new")
    assert code == 2
    assert "needs" in error


def test_another_format_is_refused(stopped, run_cli):
    from helpers import edit_record

    shutil.rmtree("run/checkpoints")
    edit_record("run", lambda record: record.update(format=99))
    for words in (["resume", "run"], ["report", "run"], ["predict", "run", "--text", "a cat"]):
        code, _, error = run_cli(*words)
        assert code == 2, words
        assert "has format 99, and this Pippin reads format" in error
