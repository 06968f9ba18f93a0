"""Named pipes, sockets and devices where a file is wanted: refused in words, and never waited for."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import make_rows

KINDS = ["pipe", "socket", "device", "link to a pipe"]
SECONDS = 20


@pytest.fixture(autouse=True)
def _no_waiting():
    """A read that waits for somebody is a failure, and not the end of the tests."""

    def give_up(*_: object) -> None:
        raise AssertionError("waited for somebody to write into it")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def make_odd(path: Path | str, kind: str = "pipe") -> None:
    """Put something that is no file under a name."""
    path = Path(path)
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            before = os.getcwd()
            os.chdir(path.parent)  # the name of a socket must be short
            server.bind(path.name)
            os.chdir(before)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        make_odd(path.with_name("pipe behind it"))
        path.symlink_to("pipe behind it")


@pytest.fixture(scope="module")
def finished(tmp_path_factory, tiny_model) -> Path:
    """A run that is whole."""
    from pippin.cli.main import main

    folder = tmp_path_factory.mktemp("finished")
    rows = folder / "words.jsonl"
    rows.write_text("".join(json.dumps(row) + "\n" for row in make_rows(24)))
    model = ["--model_name_or_path", str(tiny_model), "--max_steps", "1", "--output_dir", str(folder / "run")]
    assert main(["train", str(rows), *model]) == 0
    return folder / "run"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.jsonl", "rows.json", "rows.parquet"])
def test_rows(run_cli, kind, name):
    make_odd(name, kind)
    said = "a named pipe" if "pipe" in kind else f"a {kind}"
    for words in (["train", name], ["predict", "nothing", "--file", name], ["train", "--validation_file", name, name]):
        code, _, err = run_cli(*words)
        assert code == 2
        assert said in err or "exclude" in err, err


@pytest.mark.parametrize("name", ["train.csv", "test.csv"])
def test_a_folder_of_rows(run_cli, name):
    os.mkdir("rows")
    for split in ("train", "test"):
        Path(f"rows/{split}.csv").write_text("text,label\n" + "".join(f"text {n},{n % 2}\n" for n in range(20)))
    make_odd(f"rows/{name}")
    code, _, err = run_cli("train", "rows")
    assert code == 2
    assert f"rows/{name} is a named pipe" in err


@pytest.mark.parametrize(("task", "name"), [("mrpc", "train.tsv"), ("mrpc", "dev.tsv"), ("trec", "train_5500.label")])
def test_a_folder_of_a_task(run_cli, task, name):
    os.mkdir("glue")
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    for split in ("train", "dev"):
        Path(f"glue/{split}.tsv").write_text(header + "1\t1\t2\tone\tother\n0\t1\t2\tthis\tthat\n")
    make_odd(f"glue/{name}")
    code, _, err = run_cli("train", "--task_name", task, "--data_dir", "glue")
    assert code == 2
    assert "a named pipe" in err or task == "trec", err


@pytest.mark.parametrize("kind", KINDS)
def test_settings(run_cli, kind):
    make_odd("settings.yaml", kind)
    code, _, err = run_cli("train", "--config", "settings.yaml")
    assert code == 2
    assert "settings.yaml" in err
    assert "not a plain file" in err


def test_settings_from_a_pipe_of_the_shell(run_cli, word_file, tiny_model):
    """`--config <(sed … base.yaml)`: a pipe that this very process was given."""
    reader, writer = os.pipe()
    os.write(writer, b"max_steps: 1\noutput_dir: run\n")
    os.close(writer)
    code, _, err = run_cli("train", word_file, "--config", f"/dev/fd/{reader}", "--model_name_or_path", tiny_model)
    os.close(reader)
    assert code == 0, err
    assert Path("run/run.json").is_file()


@pytest.mark.parametrize("name", ["run.json", "report.json", "events.jsonl", "trackers.json"])
@pytest.mark.parametrize(
    "words",
    [["report"], ["resume"], ["preflight"], ["predict", "--text", "dog"],
     ["train", "--output_dir"], ["train", "--overwrite_output_dir", "--max_steps", "1", "--output_dir"]],
    ids=" ".join,
)  # fmt: skip
def test_records_of_a_run(run_cli, finished, word_file, tiny_model, name, words):
    shutil.copytree(finished, "run")
    make_odd(f"run/{name}")
    extra = [word_file, "--model_name_or_path", tiny_model] if words[0] == "train" else []
    code, _, err = run_cli(words[0], *extra, *words[1:], "run") if extra else run_cli(words[0], "run", *words[1:])
    assert code in (0, 2), err
    assert name != "run.json" or words[0] in ("predict",) or code == 2


@pytest.mark.parametrize(
    "name",
    ["config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
     "model.safetensors", "model.safetensors.index.json", "chat_template.jinja", "vocab.txt"],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["pipe", "link to a pipe"])
def test_a_model(run_cli, finished, word_file, name, kind):
    shutil.copytree(finished, "model")
    make_odd(f"model/{name}", kind)
    for words in (["predict", "model", "--text", "dog"], ["train", word_file, "--model_name_or_path", "model"]):
        code, _, err = run_cli(*words)
        assert code == 2, err
        assert "named pipe" in err or "config.json" in err, err


def test_a_tokenizer(run_cli, finished, word_file, tiny_model):
    shutil.copytree(finished, "other")
    make_odd("other/tokenizer.json")
    words = ["train", word_file, "--model_name_or_path", tiny_model, "--tokenizer_name", "other"]
    code, _, err = run_cli(*words)
    assert code == 2
    assert "tokenizer.json is a named pipe" in err


def test_descriptions_of_machines_and_benchmarks(run_cli):
    make_odd("pipe.json")
    for words in (["doctor", "--machine", "pipe.json"], ["bench", "--compare", "pipe.json", "pipe.json"]):
        code, _, err = run_cli(*words)
        assert code == 2
        assert "not a plain file" in err


def test_lines_from_a_pipe_are_read_as_ever(finished):
    """Standard input is what pipes are for."""
    command = [sys.executable, "-m", "pippin", "predict", str(finished), "--quiet"]
    done = subprocess.run(command, input=b"a dog\n\na saw\n", capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4
