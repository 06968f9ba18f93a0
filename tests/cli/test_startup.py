"""The help must not wait for torch: which modules a command loads before it has work to do."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from pippin.models.loading import BUILTIN_PACKAGE

SOURCE = Path(__file__).parents[2] / "src"
HEAVY = ("torch", "torch._dynamo", "transformers", "pyarrow", "sklearn", "scipy", "rich", "numpy", "yaml")


def loaded_by(arguments: list[str]) -> tuple[set[str], str]:
    """The heavy modules that a command loads in a fresh process, and what it printed."""
    code = (
        "import sys; from pippin.cli.main import main; code = main(sys.argv[1:]); "
        f"print('LOADED', *[name for name in {HEAVY!r} if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment, check=True
    )
    output, _, names = done.stdout.rpartition("LOADED")
    return set(names.split()), output + done.stderr


@pytest.mark.parametrize(
    "arguments", [["--help"], ["train", "--help"], ["predict", "--help"], ["doctor", "--help"], ["--version"], []]
)
def test_help_loads_nothing_heavy(arguments):
    names, output = loaded_by(arguments)
    assert names == set()
    assert "pippin" in output


def test_wrong_flags_are_told_before_anything_is_loaded():
    names, output = loaded_by(["train", "--lerning_rate", "1", "--device", "gpu", "--task_name", "mrcp"])
    assert names == set()
    assert "3 things" in output
    assert "Did you mean --learning_rate?" in output


def test_the_guard_can_fail():
    names, _ = loaded_by(["predict", "no/such/folder", "--text", "x"])
    assert "torch" in names or "numpy" in names


def test_the_built_in_model_needs_no_transformers(word_file):
    """Importing it, or torch's compiler, takes longer than all else before the first step."""
    if find_spec(BUILTIN_PACKAGE) is None:
        pytest.skip("the built-in model is not installed")
    job = ["--max_steps", "1", "--output_dir", "run", "--save_steps", "1", "--use_cpu"]
    names, output = loaded_by(["train", str(word_file), *job])
    assert "saved in run" in output
    assert not names & {"transformers", "torch._dynamo"}
    names, output = loaded_by(["predict", "run", "--text", "a cat", "--device", "cpu"])
    assert "torch" in names
    assert not names & {"transformers", "torch._dynamo"}


def test_both_ways_to_start():
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, "-m", "pippin", "--version"], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.startswith("pippin ")


def test_unknown_command(run_cli):
    code, out, err = run_cli("trian")
    assert (code, out) == (2, "")
    assert "Did you mean pippin train?" in err
