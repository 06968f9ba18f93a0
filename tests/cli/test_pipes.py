"""Output that nobody reads, and terminals that know no UTF-8: the work goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"


def run(command: str, **environment: str) -> subprocess.CompletedProcess:
    variables = {**os.environ, "PYTHONPATH": str(SOURCE), **environment}
    return subprocess.run(["bash", "-c", command], capture_output=True, env=variables, check=False)


def test_training_goes_on_when_the_reader_is_gone(word_file, tiny_model):
    flags = f"{word_file} --model_name_or_path {tiny_model} --output_dir run --max_steps 30 --logging_steps 1"
    run(f"{sys.executable} -m pippin train {flags} | head -n 2")
    assert json.loads(Path("run/run.json").read_text())["status"] == "finished"


def test_terminal_without_utf_8(word_file, tiny_model):
    flags = f"{word_file} --model_name_or_path {tiny_model} --output_dir run --max_steps 2"
    done = run(f"{sys.executable} -m pippin train {flags}", PYTHONIOENCODING="latin-1")
    assert done.returncode == 0, done.stderr
