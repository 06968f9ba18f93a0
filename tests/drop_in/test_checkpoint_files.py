"""The files of a script's checkpoints: only what a manifest of ours names goes, and no clock decides which."""

from __future__ import annotations

import json
import os
import time

import pytest
from small_trainer import Rows, arguments, small_model

pytest.importorskip("accelerate")

from pippin.drop_in import checkpoints, notices  # noqa: E402
from pippin.drop_in.trainer import Trainer  # noqa: E402
from pippin.runs.checkpoints.manifest import problem_of, read  # noqa: E402


@pytest.fixture(autouse=True)
def _nothing_said(monkeypatch):
    monkeypatch.setattr(notices, "_said", set())


@pytest.fixture
def train(tmp_path):
    """Twelve steps with a checkpoint after every second one."""

    def call(kind=Trainer, resume=None, callbacks=None, **settings):
        asked = {"save_strategy": "steps", "save_steps": 2, "save_total_limit": 2, "eval_strategy": "no", **settings}
        trainer = kind(
            model=small_model(),
            args=arguments(tmp_path / "run", **asked),
            train_dataset=Rows(43),
            eval_dataset=Rows(6),
            callbacks=callbacks,
        )
        trainer.train(resume_from_checkpoint=resume)
        return trainer

    return call


def names(folder):
    return sorted(path.name for path in folder.iterdir())


class Hooked(Trainer):
    """Its checkpoints are filled where they stand."""

    def _save(self, *arguments, **named):
        super()._save(*arguments, **named)


@pytest.mark.parametrize("kind", [Trainer, Hooked], ids=["staged", "in place"])
def test_folders_of_the_users_stay(train, tmp_path, kind, capsys):
    """Whatever they are called, and whatever is in them."""
    mine = {
        "checkpoint-1": {"notes.txt": "mine"},
        "checkpoint-3": {"trainer_state.json": "{}", "model.safetensors": "of another program"},
        "checkpoint-best": {"model.safetensors": "mine"},
        "checkpoint-4": {"sub/folder/notes.txt": "mine"},  # where one of ours will stand
    }
    for folder, files in mine.items():
        for name, text in files.items():
            path = tmp_path / "run" / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    train(kind)
    assert names(tmp_path / "run") == sorted([*mine, "checkpoint-10", "checkpoint-12"])
    for folder, files in mine.items():
        for name, text in files.items():
            assert (tmp_path / "run" / folder / name).read_text() == text
    assert names(tmp_path / "run" / "checkpoint-4") == ["sub"], "of ours everything goes"
    said = capsys.readouterr().err
    assert "checkpoint-3 exceeds save_total_limit=2, but stays: Pippin deletes only what it wrote itself" in said
    assert "checkpoint-1 stays" not in said


def test_notes_in_a_checkpoint_stay(train, tmp_path):
    train(max_steps=4)
    notes = tmp_path / "run" / "checkpoint-2" / "notes" / "mine.txt"
    notes.parent.mkdir()
    notes.write_text("the best one yet")
    (tmp_path / "run" / "checkpoint-4" / "mine.txt").write_text("here too")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "model.safetensors").write_text("mine")
    (tmp_path / "run" / "checkpoint-2" / "link").symlink_to(elsewhere)
    train()
    assert names(notes.parent.parent) == ["link", "notes"]
    assert notes.read_text() == "the best one yet"
    assert names(elsewhere) == ["model.safetensors"]
    assert names(tmp_path / "run" / "checkpoint-4") == ["mine.txt"], "a checkpoint that was written anew and let go"
    assert checkpoints.newest(tmp_path / "run").path == tmp_path / "run" / "checkpoint-12"


def test_a_linked_folder_is_not_emptied(train, tmp_path):
    train(max_steps=4)
    (tmp_path / "run" / "checkpoint-2").rename(tmp_path / "kept")
    (tmp_path / "run" / "checkpoint-2").symlink_to(tmp_path / "kept")
    train(max_steps=12, resume=str(tmp_path / "run" / "checkpoint-4"))
    assert problem_of(tmp_path / "kept") is None


def test_what_is_no_folder_makes_way(train, tmp_path, capsys):
    (tmp_path / "run").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    (tmp_path / "run" / "checkpoint-2").write_text("a file")
    (tmp_path / "run" / "checkpoint-4").symlink_to(tmp_path / "mine")
    train(max_steps=4)
    assert (tmp_path / "run" / "checkpoint-2.moved").read_text() == "a file"
    assert (tmp_path / "run" / "checkpoint-4.moved" / "notes.txt").read_text() == "mine"
    assert names(tmp_path / "mine") == ["notes.txt"]
    assert problem_of(tmp_path / "run" / "checkpoint-4") is None
    assert "checkpoint-2 was not a plain folder" in capsys.readouterr().err


def test_only_the_best_is_left_with_a_limit_of_one(train, tmp_path):
    mine = tmp_path / "run" / "checkpoint-1" / "trainer_state.json"
    mine.parent.mkdir(parents=True)
    mine.write_text("{}")
    trainer = train(
        save_total_limit=1,
        eval_strategy="steps",
        eval_steps=2,
        learning_rate=1e-3,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        greater_is_better=True,  # so that an early one is the best, on every computer
    )
    best = f"checkpoint-{trainer.state.best_global_step}"
    assert best != "checkpoint-12"
    assert names(tmp_path / "run") == sorted(["checkpoint-1", best])


def test_a_clock_that_is_set_back_changes_nothing(train, tmp_path, monkeypatch):
    now = [2e9]

    def backwards():
        now[0] -= 3600
        return now[0]

    monkeypatch.setattr(time, "time", backwards)
    train()
    assert names(tmp_path / "run") == ["checkpoint-10", "checkpoint-12"]
    assert checkpoints.newest(tmp_path / "run").path == tmp_path / "run" / "checkpoint-12"
    train(max_steps=8)
    assert names(tmp_path / "run") == ["checkpoint-6", "checkpoint-8"], "of an earlier training they go first"
    assert checkpoints.newest(tmp_path / "run").path == tmp_path / "run" / "checkpoint-8"


def test_going_on_from_an_older_one_makes_that_the_newest(train, tmp_path):
    train(save_total_limit=None, max_steps=8)
    train(save_total_limit=None, max_steps=6, resume=str(tmp_path / "run" / "checkpoint-4"))
    assert checkpoints.newest(tmp_path / "run").path == tmp_path / "run" / "checkpoint-6"


def half_written(folder, step, marked=True):
    """What a kill leaves of a save in place."""
    path = folder / f"checkpoint-{step}"
    path.mkdir(parents=True, exist_ok=True)
    (path / "trainer_state.json").write_text("{}")
    if marked:
        hidden = folder / f".checkpoint-{step}-0123456789abcdef.partial"
        hidden.mkdir()
        (hidden / "in_place").touch()
    return path


@pytest.mark.parametrize("asked", [True, "by its path"])
def test_half_a_checkpoint_is_never_gone_on_from(train, tmp_path, asked, capsys):
    train(max_steps=4)
    half = half_written(tmp_path / "run", 6)
    (half / "notes.txt").write_text("mine")
    trainer = train(resume=asked if asked is True else str(half), max_steps=5)
    assert "skipped checkpoint-6: it was not saved completely" in capsys.readouterr().err
    assert trainer.state.log_history[-1]["step"] == 5
    assert (tmp_path / "run" / "checkpoint-6.unfinished" / "notes.txt").read_text() == "mine"
    assert not half.exists()


@pytest.mark.parametrize("kind", [Trainer, Hooked], ids=["staged", "in place"])
@pytest.mark.parametrize("marked", [False, True], ids=["of transformers' own", "half of ours"])
def test_what_is_written_over_is_ours(train, tmp_path, kind, marked):
    """Files that stood there under names that a checkpoint needs are no longer the user's."""
    before = half_written(tmp_path / "run", 2, marked)
    for name in ("config.json", "model.safetensors", "optimizer.pt", "manifest.json", "notes.txt"):
        (before / name).write_text("there before")
    train(kind, max_steps=2)
    assert problem_of(before) is None
    assert {"config.json", "model.safetensors", "optimizer.pt", "trainer_state.json"} <= set(read(before).files)
    train(kind)
    assert not (before / "model.safetensors").exists()
    notes = before.with_name("checkpoint-2.unfinished" if marked else "checkpoint-2") / "notes.txt"
    assert notes.read_text() == "there before"


def test_what_half_a_checkpoint_replaced_comes_back(train, tmp_path):
    train(max_steps=4)
    hidden = tmp_path / "run" / ".checkpoint-4-0123456789abcdef.partial"
    hidden.mkdir()
    (tmp_path / "run" / "checkpoint-4").rename(hidden / "replaced")
    (hidden / "in_place").touch()
    half_written(tmp_path / "run", 4, marked=False)
    found = checkpoints.newest(tmp_path / "run")
    assert found.path == tmp_path / "run" / "checkpoint-4"
    assert found.passed_over[0][0] == "checkpoint-4"
    assert names(tmp_path / "run") == ["checkpoint-2", "checkpoint-4", "checkpoint-4.unfinished"]


def test_a_save_that_was_killed_after_its_last_byte_counts(train, tmp_path):
    train(max_steps=4)
    hidden = tmp_path / "run" / ".checkpoint-4-0123456789abcdef.partial"
    hidden.mkdir()
    (hidden / "in_place").touch()
    assert checkpoints.newest(tmp_path / "run").path == tmp_path / "run" / "checkpoint-4"
    assert not hidden.exists()


def test_a_folder_with_nearly_such_a_name_is_somebodys(train, tmp_path):
    mine = tmp_path / "run" / ".checkpoint-2.partial" / "replaced" / "notes.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    train(max_steps=4)
    assert mine.read_text() == "mine"


def test_a_manifest_cannot_lead_elsewhere(train, tmp_path):
    train(max_steps=2)
    (tmp_path / "mine.txt").write_text("mine")
    path = tmp_path / "run" / "checkpoint-2" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"]["../../mine.txt"] = {"bytes": 4, "sha256": ""}
    path.write_text(json.dumps(manifest))
    checkpoints.drop(path.parent)
    assert (tmp_path / "mine.txt").exists()
    assert os.listdir(path.parent)
