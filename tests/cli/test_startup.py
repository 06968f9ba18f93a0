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


def loaded_by(*commands: list[str]) -> tuple[set[str], str]:
    """The heavy modules that commands load in a fresh process, one after the other, and what they printed."""
    code = (
        f"import sys; from pippin.cli.main import main; codes = [main(command) for command in {commands!r}]; "
        f"print('LOADED', *[name for name in {HEAVY!r} if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    output, _, names = done.stdout.rpartition("LOADED")
    return set(names.split()), output + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["completion", "zsh"],
        ["train", "--help"],
        ["predict", "--help"],
        ["chat", "--help"],
        ["doctor", "--help"],
        ["--version"],
        [],
    ],
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


def test_a_chat_is_judged_before_anything_is_loaded():
    names, output = loaded_by(["chat", "runs/chats", "--text", "a", "--temperature", "-1", "--device", "gpu"])
    assert names == set()
    assert "2 things" in output


def test_the_guard_can_fail(tmp_path):
    (tmp_path / "settings.yaml").write_text("sead: 1\n")
    names, output = loaded_by(["train", "--config", str(tmp_path / "settings.yaml")])
    assert names == {"yaml"}
    assert "there is no such setting" in output


def test_the_built_in_model_needs_no_transformers(word_file):
    """Importing it, or torch's compiler, takes longer than all else before the first step."""
    if find_spec(BUILTIN_PACKAGE) is None:
        pytest.skip("the built-in model is not installed")
    job = ["--max_steps", "1", "--output_dir", "run", "--save_steps", "1", "--use_cpu"]
    answer = ["predict", "run", "--text", "a cat", "--device", "cpu"]
    names, output = loaded_by(["train", str(word_file), *job], answer)
    assert "saved in run" in output
    assert "a cat," in output
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
