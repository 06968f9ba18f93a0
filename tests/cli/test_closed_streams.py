"""Standard output and standard error that are closed, full, or read by nobody: no traceback, whatever the command."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pippin.cli.commands import COMMANDS
from pippin.cli.main import main

SOURCE = Path(__file__).parents[2] / "src"
HELPS = [[], ["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)]


def run_with(words: list[str], redirection: str = "", **streams: int) -> subprocess.CompletedProcess[bytes]:
    """`pippin …` as a shell starts it."""
    command = f'"$0" -m pippin "$@" {redirection}'
    arguments = ["bash", "-c", command, sys.executable, *words]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run(arguments, env=environment, check=False, **streams)  # type: ignore[call-overload]


@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_help_that_nobody_reads(words):
    """`pippin … --help | head -1`, where head has gone already."""
    reader, writer = os.pipe()
    os.close(reader)
    done = run_with(words, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams(redirection):
    for words, code in (
        (["--help"], 0),
        (["exec", "--help"], 0),
        (["train", "--nonsense", "1"], 2),
        (["report", "x"], 2),
    ):
        done = run_with(words, redirection)
        assert done.returncode == code
        assert b"Traceback" not in done.stderr
        assert code == 0 or b"pippin: " not in done.stdout, "a complaint is no output"
        assert code == 0 or (b"pippin: " in done.stderr) is ("2>&-" not in redirection)


def test_a_full_disk_behind_standard_output():
    with open("/dev/full", "wb") as full:
        done = run_with(["--help"], stdout=full.fileno())
    assert done.returncode == 2
    assert done.stderr.decode() == f"pippin: a file or standard output: {os.strerror(errno.ENOSPC)}.\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_training_without_a_stream(word_file, tiny_model, monkeypatch, stream):
    monkeypatch.setattr(sys, stream, None)
    words = [
        "train",
        str(word_file),
        "--model_name_or_path",
        str(tiny_model),
        "--max_steps",
        "1",
        "--output_dir",
        "run",
    ]
    assert main(words) == 0
    assert Path("run/report.json").is_file()


def test_the_number_of_a_closed_stream_is_not_given_to_a_file(tmp_path):
    """Whatever writes to number 1 or 2, as C libraries do, must not write into the next file that is opened."""
    code = (
        "import os; from pippin.cli.main import main; main(['--version']); "
        "new = os.open('new', os.O_WRONLY | os.O_CREAT); os._exit(new)"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(["bash", "-c", '"$0" -c "$1" >&- 2>&-', sys.executable, code], env=environment, check=False)
    assert done.returncode > 2


def test_predictions_are_not_written_into_nothing(train, word_file, monkeypatch, capsys):
    train(word_file)
    capsys.readouterr()
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["predict", "run", "--text", "a dog"]) == 2
    assert "standard output is closed" in capsys.readouterr().err
    assert main(["predict", "run", "--text", "a dog", "--output", "out.csv"]) == 0
    assert len(Path("out.csv").read_text().splitlines()) == 2
