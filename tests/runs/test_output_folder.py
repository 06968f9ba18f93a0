"""Whose folder is it? Nothing that Pippin did not write is ever touched."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def train(run_cli, tiny_model, word_file):
    def call(*arguments: object) -> tuple[int, str, str]:
        return run_cli("train", word_file, "--model_name_or_path", tiny_model, "--max_steps", "2", *arguments)

    return call


def test_foreign_folder_is_never_touched(train):
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("dear diary")
    for extra in ([], ["--overwrite_output_dir"]):
        code, _, err = train("--output_dir", "mine", *extra)
        assert code == 2
        assert "was not written by Pippin" in err
    assert [path.name for path in Path("mine").iterdir()] == ["notes.txt"]


def test_own_folder_is_reused_only_when_asked(train):
    assert train("--output_dir", "run")[0] == 0
    first = Path("run/run.json").read_text()
    code, _, err = train("--output_dir", "run")
    assert code == 2
    assert "--overwrite_output_dir" in err
    assert Path("run/run.json").read_text() == first


def test_overwriting_removes_only_what_pippin_wrote(train):
    train("--output_dir", "run", "--save_strategy", "steps", "--save_steps", "1")
    Path("run/notes.txt").write_text("mine")
    Path("run/checkpoints/notes").mkdir()
    Path("run/checkpoints/step-by-step").mkdir()
    Path("run/checkpoints/notes/a.txt").write_text("mine")
    Path("run/predictions.csv").write_text("mine too: this run predicted nothing")
    assert Path("run/checkpoints/step-2").exists()
    assert train("--output_dir", "run", "--overwrite_output_dir")[0] == 0
    assert Path("run/notes.txt").read_text() == "mine"
    assert Path("run/checkpoints/notes/a.txt").read_text() == "mine"
    assert Path("run/predictions.csv").exists()
    assert Path("run/checkpoints/step-by-step").is_dir()
    assert not Path("run/checkpoints/step-2").exists()


def test_empty_folder_and_default_names(train):
    Path("empty").mkdir()
    assert train("--output_dir", "empty")[0] == 0
    assert train()[0] == 0
    assert train()[0] == 0
    assert {path.name for path in Path("runs").iterdir()} == {"words", "words-2"}


def test_folder_in_use_is_refused_before_the_data_is_read(run_cli):
    Path("mine").mkdir()
    Path("mine/x").write_text("")
    code, _, err = run_cli("train", "no-such-file.csv", "--output_dir", "mine")
    assert code == 2
    assert "mine is not empty" in err


def test_files_get_the_usual_permissions(train):
    train("--output_dir", "run")
    modes = {path.name: path.stat().st_mode & 0o777 for path in Path("run").iterdir()}
    assert modes["model.safetensors"] == modes["run.json"]


def test_a_file_is_no_folder(train):
    Path("file").write_text("")
    code, _, err = train("--output_dir", "file")
    assert code == 2
    assert "is a file" in err


def test_a_place_that_cannot_be_written_is_refused_at_once(run_cli):
    Path("file").write_text("")
    code, _, err = run_cli("train", "no-such-file.csv", "--output_dir", "file/x")
    assert code == 2
    assert "file/x cannot be written" in err


def test_trouble_with_the_disk_ends_in_one_line(train, monkeypatch):
    def full(*arguments: object, **keywords: object) -> None:
        raise OSError(28, "No space left on device", "run/model.safetensors")

    monkeypatch.setattr("pippin.files.os.replace", full)
    code, _, err = train("--output_dir", "run")
    assert code == 2
    assert "run cannot be written: No space left on device. The disk has" in err
    assert "--resume" in err


def test_no_checkpoint_of_the_run_before_is_ever_beside_the_new_record(train, monkeypatch):
    """Else a kill in between would let the new run go on from the old one's weights."""
    from pippin.runs.folder import RunFolder

    train("--output_dir", "run", "--save_steps", "1")
    seen = []
    write = RunFolder._write_record

    def look(self) -> None:
        seen.append(Path("run/checkpoints").exists())
        write(self)

    monkeypatch.setattr(RunFolder, "_write_record", look)
    assert train("--output_dir", "run", "--overwrite_output_dir", "--seed", "7")[0] == 0
    assert seen[:2] == [False, False]
