"""Output that nobody reads, and terminals that know no UTF-8: the work goes on."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"


@pytest.fixture
def train_quickly(word_file, tiny_model):
    """`pippin train` with whatever standard output is now; returns the exit code."""
    from pippin.cli.main import main

    def call(*flags: str) -> int:
        return main(["train", str(word_file), "--model_name_or_path", str(tiny_model), "--output_dir", "run", *flags])

    return call


def test_training_goes_on_when_the_reader_is_gone(train_quickly, monkeypatch):
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        os.close(reader)
        assert train_quickly("--max_steps", "3", "--logging_steps", "1") == 0
    assert json.loads(Path("run/run.json").read_text())["status"] == "finished"


def test_a_process_whose_reader_is_gone_ends_without_a_word():
    code = "from pippin.report.terminal import Terminal; t = Terminal(); [t.line('words ' * 99) for _ in range(999)]"
    command = f'{sys.executable} -c "{code}" | head -n 1 > /dev/null; exit ${{PIPESTATUS[0]}}'
    variables = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(["bash", "-c", command], capture_output=True, env=variables, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_terminal_without_utf_8(train_quickly, monkeypatch):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1"))
    assert train_quickly("--max_steps", "2") == 0
    sys.stdout.flush()
    assert b"saved in run" in written.getvalue()
    assert b'--text "?"' in written.getvalue(), "what cannot be written is a question mark"
