"""A finished model is used only where every byte that is read is as training left it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from runs_helpers import flip


@pytest.fixture(scope="module")
def finished(tiny_model, tmp_path_factory) -> Path:
    import pippin
    from helpers import make_rows

    folder = tmp_path_factory.mktemp("finished")
    rows = folder / "words.csv"
    rows.write_text("text,label\n" + "".join(f"{row['text']},{row['label']}\n" for row in make_rows(60)))
    pippin.train(rows, model_name_or_path=tiny_model, output_dir=folder / "run", max_steps=3, quiet=True,
                 save_strategy="steps", save_steps=2)  # fmt: skip
    return folder / "run"


@pytest.fixture
def run(finished, tmp_path) -> Path:
    shutil.copytree(finished, tmp_path / "run")
    return Path("run")


def edited(name: str, old: str, new: str):
    def edit(run: Path) -> None:
        path = run / name
        assert old in path.read_text(), old
        path.write_text(path.read_text().replace(old, new, 1))

    return edit


def swapped_words(run: Path) -> None:
    data = json.loads((run / "tokenizer.json").read_text())
    vocabulary = data["model"]["vocab"]
    vocabulary["cat"], vocabulary["dog"] = vocabulary["dog"], vocabulary["cat"]
    (run / "tokenizer.json").write_text(json.dumps(data))


def flip_last(path: Path) -> None:
    flip(path, 8 * path.stat().st_size - 2)


def linked(run: Path) -> None:
    (run / "config.json").rename("config.json")
    (run / "config.json").symlink_to("../config.json")


CHANGES = {
    "a bit of the head": (lambda run: flip_last(run / "model.safetensors"), "model.safetensors was changed"),
    "the classes": (edited("config.json", '"animal"', '"tool_"'), "config.json was changed"),
    "the longest input": (edited("run.json", '"value": 64', '"value": 16'), "run.json was changed or damaged"),
    "the vocabulary": (swapped_words, "tokenizer.json was changed"),
    "the tokenizer's settings": (edited("tokenizer_config.json", "64", "32"), "tokenizer_config.json was changed"),
    "a file more": (lambda run: (run / "added_tokens.json").write_text("{}"), "added_tokens.json was added"),
    "a file less": (lambda run: (run / "tokenizer_config.json").unlink(), "tokenizer_config.json is missing"),
    "a link": (linked, "config.json is missing"),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_changed_models_are_refused(run_cli, run, finished, change):
    edit, words = CHANGES[change]
    edit(run)
    for command in (["predict", "run", "--text", "a cat"],
                    ["train", finished.parent / "words.csv", "--model_name_or_path", "run", "--output_dir", "new"],
                    ["train", "--model_name_or_path", "run", "--output_dir", "new", "--do_eval",
                     "--validation_file", finished.parent / "words.csv"]):  # fmt: skip
        code, out, error = run_cli(*command)
        assert (code, out.count("\n") < 3) == (2, True), command
        assert words in error
        assert "remove run/run.json" in error
        assert not Path("new").exists()


def test_what_nobody_reads_may_change(run_cli, run):
    (run / "README.md").write_text("my own words")
    (run / "notes.txt").write_text("mine")
    (run / "._model.safetensors").write_bytes(b"\0\5\26\7")
    (run / "events.jsonl").write_text("")
    code, _, error = run_cli("predict", "run", "--text", "a cat")
    assert code == 0, error


def test_without_a_record_it_is_anybodys_model(run_cli, run):
    edited("config.json", '"animal"', '"beast"')(run)
    (run / "run.json").unlink()
    code, out, error = run_cli("predict", "run", "--text", "a cat")
    assert code == 0, error


def test_a_record_of_somebody_else_is_no_record(run_cli, run):
    (run / "run.json").write_text('{"name": "my own notes"}')
    code, _, error = run_cli("predict", "run", "--text", "a cat")
    assert code == 0, error


def test_a_checkpoint_is_verified_too(run_cli, run):
    code, out, error = run_cli("predict", "run/checkpoints/step-3", "--text", "a cat")
    assert code == 0, error
    flip(run / "checkpoints/step-3/model.safetensors", 9000)
    code, _, error = run_cli("predict", "run/checkpoints/step-3", "--text", "a cat")
    assert code == 2
    assert "model.safetensors was changed or damaged" in error


def test_a_run_without_a_model_says_what_to_type(run_cli, run):
    from helpers import edit_record

    edit_record(run, lambda record: record.update(status="interrupted", trained=None))
    code, _, error = run_cli("predict", "run", "--text", "a cat")
    assert code == 2
    assert "To continue: pippin resume run" in error
