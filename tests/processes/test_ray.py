"""The guide's example for Ray Train, where ray is installed: a local cluster with two workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from groups import finished, outcome
from guide import ROOT, blocks


def test_the_guides_program_trains_as_any_other_group(nursery, words, word_file, tiny_model):
    pytest.importorskip("ray")
    (program,) = (block.text for block in blocks(ROOT / "docs" / "processes.md") if block.language == "py")
    settings = f"{str(word_file)!r}, model={str(tiny_model)!r}, max_steps=6, batch_size=12, logging_steps=1"
    program = program.replace('"/data/reviews.csv"', settings).replace("/data/runs/reviews", str(Path("ray").resolve()))
    Path("program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    finished(*nursery.group(words("alone", "--reduce", "exact"), 0))
    assert outcome("ray") == outcome("alone")
