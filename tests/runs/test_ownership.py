"""Files of the user's own in a run's folder, and a run that reads from the folder it writes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from runs_helpers import tree, weights

from helpers import events, make_rows

MINE = ("README.md", "train_results.json", "eval_results.json", "predictions.csv", "all_results.json", "report.html")


def test_the_users_files_keep_their_names(command, interrupt, run_cli, word_file):
    interrupt(6)
    command("run", "--test_file", word_file, "--max_steps", 9)
    Path("run/report.html").unlink()
    for name in MINE:
        Path("run", name).write_text("mine")
    code, out, error = run_cli("resume", "run")
    assert code == 0, error
    for name in MINE:
        assert Path("run", name).read_text() == "mine"
        stem, _, suffix = name.partition(".")
        assert Path("run", f"{stem}-2.{suffix}").exists(), name
        assert f"run/{name} was not written by Pippin" in out
    assert run_cli("predict", "run", "--text", "a cat")[0] == 0
    code, out, error = command("run", "--max_steps", 3, "--overwrite_output_dir")
    assert code == 0, error
    for name in MINE:
        assert Path("run", name).read_text() == "mine"


def test_a_link_in_the_place_of_the_events_moves_aside(command, run_cli):
    """Were it refused, it would be when the record of the run before is gone already."""
    command("run", "--max_steps", 3)
    Path("mine.txt").write_text("mine")
    Path("run/events.jsonl").unlink()
    Path("run/events.jsonl").symlink_to("../mine.txt")
    code, out, error = command("run", "--max_steps", 3, "--overwrite_output_dir")
    assert code == 0, error
    assert "renamed to events-2.jsonl" in out
    assert Path("run/events-2.jsonl").is_symlink()
    assert Path("mine.txt").read_text() == "mine"
    assert run_cli("predict", "run", "--text", "a cat")[0] == 0


def test_what_the_user_changed_is_the_users(command):
    command("run", "--max_steps", 3)
    Path("run/README.md").write_text(Path("run/README.md").read_text() + "\nand a word of mine")
    Path("run/config.json").write_text("{}")
    code, out, error = command("run", "--max_steps", 3, "--overwrite_output_dir")
    assert code == 0, error
    assert Path("run/README.md").read_text().endswith("a word of mine")
    assert Path("run/README-2.md").exists()
    assert Path("run/config-2.json").read_text() == "{}"
    assert json.loads(Path("run/config.json").read_text())["model_type"] == "bert"
    assert "run/config.json was" in out
    assert "renamed to config-2.json" in out


def test_a_file_in_the_way_of_the_model_moves_aside(command, interrupt, run_cli):
    interrupt(6)
    command("run", "--max_steps", 9)
    Path("run/config.json").write_text("mine")
    Path("run/report.json").write_text("mine too")
    code, out, error = run_cli("resume", "run")
    assert code == 0, error
    assert Path("run/config-2.json").read_text() == "mine"
    assert Path("run/report-2.json").read_text() == "mine too"
    assert run_cli("predict", "run", "--text", "a cat")[0] == 0
    assert run_cli("report", "run")[0] == 0


def test_staging_names_of_the_user_stay(command, interrupt, run_cli):
    interrupt(6)
    command("run", "--max_steps", 9)
    Path("run/.pippin-staging").mkdir()
    for name in (".pippin-staging/a.txt", "b.partial", ".c.partial", "checkpoints/d.partial"):
        Path("run", name).write_text("mine")
    assert run_cli("resume", "run")[0] == 0
    assert command("run", "--max_steps", 3, "--overwrite_output_dir")[0] == 0
    for name in (".pippin-staging/a.txt", "b.partial", ".c.partial", "checkpoints/d.partial"):
        assert Path("run", name).read_text() == "mine"


@pytest.fixture
def in_place(run_cli, word_file, tiny_model):
    """A trained run, and the command that trains it on in its own folder."""
    words = ["--max_steps", 9, "--per_device_train_batch_size", 8, "--logging_steps", 1, "--output_dir", "run"]
    assert run_cli("train", word_file, "--model_name_or_path", tiny_model, *words)[0] == 0
    return lambda *flags: run_cli(
        "train", word_file, "--model_name_or_path", "run", *words, "--overwrite_output_dir", *flags
    )


def test_training_in_place_keeps_its_input_until_the_end(in_place, interrupt, run_cli):
    model = {name: content for name, content in tree("run").items() if name in ("config.json", "model.safetensors")}
    shutil.copytree("run", "first")
    assert in_place()[0] == 0
    wanted = weights("run")
    assert wanted != weights("first")
    shutil.rmtree("run")
    shutil.copytree("first", "run")
    interrupt(4)
    assert in_place("--save_minutes", 0)[0] == 143
    assert {name: tree("run")[name] for name in model} == model
    code, _, error = run_cli("predict", "run", "--text", "a cat")
    assert code == 0, "the model is there, as it was"
    shutil.rmtree("run/checkpoints")  # as if it had been killed before the first one
    interrupt(-1)
    code, out, error = run_cli("resume", "run")
    assert code == 0, error
    assert "starting over" in out
    assert weights("run") == wanted
    assert not list(Path("run").glob("*-2.*"))


def test_killed_while_the_new_model_takes_the_place_of_the_old(in_place, run_cli, monkeypatch):
    """Whoever comes next completes the move."""
    import os

    from pippin.runs import folder

    shutil.copytree("run", "first")
    assert in_place()[0] == 0
    wanted = weights("run")
    for stop in range(4):
        shutil.rmtree("run")
        shutil.copytree("first", "run")
        moved = []

        def crash(source, target, stop=stop, moved=moved):
            if Path(source).parent.name.startswith(".pippin-model"):
                if len(moved) == stop:
                    raise KeyboardInterrupt
                moved.append(target)
            os.rename(source, target)

        with monkeypatch.context() as patched:
            patched.setattr(folder.os, "replace", crash)
            assert in_place()[0] == 130
        assert len(moved) == stop
        code, _, error = run_cli("predict", "run", "--text", "a cat")
        assert code == 2
        assert "pippin resume run" in error
        code, out, error = run_cli("resume", "run")
        assert code == 0, error
        assert weights("run") == wanted
        assert not list(Path("run").glob(".pippin-*"))


def test_rows_inside_the_folder_survive(run_cli, tiny_model, write_rows):
    """Those that the run before wrote too."""
    rows = write_rows("words.csv", make_rows(60))
    words = ["--model_name_or_path", tiny_model, "--max_steps", 2, "--output_dir", "run"]
    assert run_cli("train", rows, "--test_file", rows, *words)[0] == 0
    shutil.copy(rows, "run/mine.csv")
    before = Path("run/predictions.csv").read_bytes()
    code, _, error = run_cli("train", "run/predictions.csv", "--label_column", "true_label", "--text_column", "text",
                             *words, "--overwrite_output_dir")  # fmt: skip
    assert code == 0, error
    assert Path("run/predictions.csv").read_bytes() == before
    assert run_cli("train", "run/mine.csv", *words, "--overwrite_output_dir")[0] == 0
    assert Path("run/mine.csv").exists()


def test_what_could_not_survive_is_refused(run_cli, tiny_model, word_file):
    words = ["--output_dir", "run", "--overwrite_output_dir"]
    train = ["train", word_file, "--max_steps", 4, "--save_steps", 2, "--save_total_limit", 9, "--model_name_or_path"]
    assert run_cli(*train, tiny_model, *words)[0] == 0
    before = tree("run")
    evaluate = ["train", "--validation_file", word_file, "--model_name_or_path", "run", "--do_eval"]
    for command in ([*train, "run/checkpoints/step-2", *words], [*evaluate, *words]):
        code, _, error = run_cli(*command)
        assert code == 2
        assert "which this run reads. Name another --output_dir" in error
        assert tree("run") == before


def test_nothing_is_lost_where_the_folder_is_taken_over(command):
    """A run that is overwritten and fails at once leaves the folder Pippin's."""
    command("run", "--max_steps", 3)
    Path("run/notes.txt").write_text("mine")
    code, _, error = command("run", "--max_steps", 3, "--overwrite_output_dir", "--learning_rate", "1",
                             "--max_grad_norm", 0, "--label_smoothing_factor", 0.1)  # fmt: skip
    assert code in (0, 2)
    code, _, error = command("run", "--max_steps", 3, "--overwrite_output_dir")
    assert code == 0, error
    assert Path("run/notes.txt").read_text() == "mine"
    assert events("run", "finished")
