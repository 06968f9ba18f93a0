"""Messages say a thing once, in words of their own, and what they tell people to type can be typed."""

from __future__ import annotations

import errno
import json
import shlex
import shutil
from pathlib import Path

import pytest

from helpers import make_rows
from pippin.disk import disk_words
from pippin.errors import PippinError, nearest

SPACED = "my own rows"


def test_a_disk_that_refuses_is_told_of_once(tmp_path):
    with pytest.raises(PippinError) as caught, disk_words(tmp_path), disk_words(tmp_path / "checkpoint", 5 << 30):
        raise RuntimeError("I/O error: No space left on device (os error 28)")
    assert str(caught.value).count("cannot be written") == 1
    assert "checkpoint cannot be written: I/O error: No space left on device (os error 28)." in str(caught.value)


def test_a_benchmark_is_not_told_to_resume(monkeypatch, tmp_path):
    from pippin.commands.bench import folder

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folder, "write_text", full)
    monkeypatch.setattr("pippin.commands.bench.views.bar_charts.write_charts", lambda *_: [])
    monkeypatch.setattr(folder, "bench_page", lambda *_: "")
    monkeypatch.setattr(folder, "comparison_document", lambda *_: None)
    with pytest.raises(PippinError, match="No space left on device. The disk has .* Free some room and try again.$"):
        folder.write_comparison([], tmp_path)


def test_weights_of_other_shapes_are_told_without_the_words_of_transformers(run_cli, tiny_model, word_file):
    shutil.copytree(tiny_model, "model")
    settings = json.loads(Path("model/config.json").read_text())
    settings |= {"hidden_act": "relu", "intermediate_size": 48}
    Path("model/config.json").write_text(json.dumps(settings))
    code, _, err = run_cli("train", word_file, "--model_name_or_path", "model", "--max_steps", 1)
    assert code == 2
    assert "the above report" not in err
    assert "the shapes of its weights do not match its config.json" in err


def test_no_word_is_suggested_for_itself(run_cli):
    assert nearest("seed", ["seed"]) == ""
    assert nearest("sead", ["seed"]) == " Did you mean seed?"
    Path("loop.csv").symlink_to("loop.csv")
    Path("gone.csv").symlink_to("nowhere.csv")
    for name, target in (("loop.csv", "loop.csv"), ("gone.csv", "nowhere.csv")):
        code, _, err = run_cli("train", name)
        assert code == 2
        assert err == f"pippin: {name} is a link that leads to no file ({target}). Name the file itself.\n"


def suggested(text: str, start: str) -> list[str]:
    """The words of the command in a text that begins so."""
    return shlex.split(text[text.index(start) :].splitlines()[0])


def test_commands_can_be_typed_whatever_the_folder_is_called(run_cli, train, monkeypatch):
    rows = Path(f"{SPACED}.jsonl")
    rows.write_text("".join(json.dumps(row) + "\n" for row in make_rows(24)))
    out, _ = train(str(rows), folder=f"{SPACED}/run", steps=1)
    assert suggested(out, "pippin predict")[:3] == ["pippin", "predict", f"{SPACED}/run"]

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pippin.engine.session.Session.train", interrupted)
    code, _, err = run_cli("train", rows, "--max_steps", 1, "--output_dir", f"{SPACED}/other")
    assert code == 130
    assert suggested(err, "pippin resume") == ["pippin", "resume", f"{SPACED}/other"]


@pytest.mark.parametrize(
    ("words", "start", "typed"),
    [
        (["train", f"{SPACED}.yaml"], "--config", ["--config", f"{SPACED}.yaml"]),
        (["exec", "python", f"{SPACED}.py"], "pippin exec", ["pippin", "exec", f"{SPACED}.py", "…"]),
        (["exec", SPACED], "pippin exec", ["pippin", "exec", f"{SPACED}/my script.py", "…"]),
    ],
)
def test_what_to_type_instead(run_cli, words, start, typed):
    Path(f"{SPACED}.yaml").write_text("seed: 1")
    Path(SPACED).mkdir()
    Path(f"{SPACED}/my script.py").write_text("")
    code, _, err = run_cli(*words)
    assert code == 2
    assert suggested(err, start)[: len(typed)] == typed


def test_columns_that_can_be_typed(run_cli):
    Path("numbers.csv").write_text("#1 string,#2 string,label\n" + "".join(f"{n},{n},{n % 2}\n" for n in range(20)))
    assert "`--text_column '#1 string'` takes the numbers as text." in run_cli("train", "numbers.csv")[2]
