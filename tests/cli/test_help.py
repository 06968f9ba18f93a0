"""The table of commands, and the help that is made from it."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from pippin.cli.commands import COMMANDS
from pippin.recipe.fields import COMMON, recipe_fields


@pytest.mark.parametrize("name", COMMANDS)
def test_both_ways_to_ask_for_help(run_cli, name):
    asked = run_cli("help", name)
    assert asked[0] == 0
    assert asked == run_cli(name, "--help") == run_cli(name, "-h") or name == "help"
    assert [flag for flag in COMMANDS[name].own_fields if f"--{flag}" not in asked[1]] == []


def test_help_without_a_command(run_cli):
    asked = run_cli("help")
    assert asked == run_cli("--help") == run_cli("-h") == run_cli()
    assert [name for name in COMMANDS if f"  {name} " not in asked[1]] == []
    assert run_cli("version") == run_cli("--version") == run_cli("-V")


@pytest.mark.parametrize("width", [60, 72, 100, 400])
@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_help_is_as_wide_as_the_terminal(run_cli, monkeypatch, name, width):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = run_cli("help", *filter(None, [name]))
    too_long = [line for line in out.splitlines() if len(line) > min(width, 110) and len(line.split()) > 2]
    assert too_long == []


def test_common_flags_come_first(run_cli):
    _, out, _ = run_cli("help", "train")
    first, _, others = out.partition("\nData:")
    assert [name for name in [*COMMON, "config"] if f"--{name}" not in first] == []
    assert "--model, --model_name_or_path NAME" in first
    assert "-o, --output, --output_dir FOLDER" in first
    assert [name for name in recipe_fields() if name != "data" and f"--{name}" not in out] == []
    assert "--adam_beta1" in others


@pytest.mark.parametrize("command", COMMANDS.values(), ids=lambda command: command.name)
def test_the_table_is_sound(command):
    assert command.name in ("help", "version") or find_spec(f"pippin.cli.{command.name}")
    assert not command.takes_recipe or not set(command.own_fields) & set(recipe_fields())
    assert all(field.help.endswith((".", "…")) for field in command.own_fields.values())
    assert command.least <= (1 if command.most is None else command.most)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("train --compare", "--compare belongs to pippin preflight and pippin bench, not to pippin train."),
        ("predict run --minutes 3", "--minutes belongs to pippin bench, not to pippin predict."),
        ("report run --no_int8", "--no_int8 belongs to pippin predict, not to pippin report."),
        ("doctor --chip m1", "--chip belongs to pippin preflight, not to pippin doctor."),
        ("doctor this", "this: pippin doctor takes flags only."),
        ("exec --epochs 3 x.py", "--epochs: pippin exec has no such flag. The script's own flags go after its name"),
        ("help trian", "Did you mean pippin train?"),
    ],
)
def test_flags_of_another_command(run_cli, words, said):
    code, out, err = run_cli(*words.split())
    assert (code, out) == (2, "")
    assert err.startswith(f"pippin: {said}") or words.startswith("help")
    assert said in err


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("help", "version", "exec")])
def test_one_complaint_for_one_mistake(run_cli, name):
    for words in (["--nonsense"], ["--nonsense", "x"], ["--nonsense=x"], ["-nonsense"]):
        code, _, err = run_cli(name, *words)
        assert code == 2
        assert len(err.splitlines()) == 1, err
        assert "nonsense: there is no such flag." in err or "flags start with two dashes" in err
