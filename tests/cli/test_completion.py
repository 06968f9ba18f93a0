"""The completion of each shell, asked in the shell itself: what is offered behind the words typed so far."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import struct
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from pippin.cli.commands import COMMANDS
from pippin.cli.completion.offers import SHELLS
from pippin.recipe.fields import recipe_fields

#: No Python is found here, nor pippin: the scripts must do without.
BARE = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TERM": "xterm", "LC_ALL": "C.UTF-8"}


@pytest.fixture(autouse=True)
def _folder(tmp_path):
    for name in ("runs/reviews/run.json", "runs/other/run.json", "alone/run.json", "plain/rows.csv", "re views.csv"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text("x")


@pytest.fixture
def script(run_cli) -> Callable[[str], str]:
    def write(shell: str) -> str:
        code, out, err = run_cli("completion", shell)
        assert (code, err) == (0, "")
        Path(f"script.{shell}").write_text(out)
        return f"script.{shell}"

    return write


def needs(shell: str) -> str:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    return path


def ask_bash(script: str, line: str) -> list[str]:
    """The words that are offered for the last one of a line; bash takes words apart at = and spaces."""
    words = re.findall(r"=|[^\s=]+", line) + [""] * line.endswith(" ")
    code = (
        f"source {script}; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _pippin; "
        '((${#COMPREPLY[@]})) && printf "%s\\n" "${COMPREPLY[@]}"; true'
    )
    done = subprocess.run([needs("bash"), "-c", code], capture_output=True, text=True, env=BARE, check=True)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def ask_fish(script: str, line: str) -> dict[str, str]:
    """The same of fish, each with its description."""
    code = f"source {script}; complete -C {shlex.quote(line)}"
    home = {**BARE, "HOME": os.getcwd(), "XDG_CONFIG_HOME": os.getcwd(), "XDG_DATA_HOME": os.getcwd()}
    done = subprocess.run([needs("fish"), "-N", "-c", code], capture_output=True, text=True, env=home, check=True)
    assert done.stderr == ""
    return dict(line.partition("\t")[::2] for line in done.stdout.splitlines())


def ask_zsh(setup: str, *lines: str) -> tuple[list[str], str]:
    """What each line becomes when TAB is hit behind it, and all that the terminal showed meanwhile."""
    Path(".zshrc").write_text(f"""PROMPT=; autoload -Uz compinit; compinit -u -D; {setup}; bindkey '^I' complete-word
        setopt no_list_ambiguous
        keep() {{ print -r -- $BUFFER >> lines.txt; BUFFER=; print -n READY }}; zle -N keep; bindkey '^X' keep
        zle-line-init() {{ print -n READY }}; zle -N zle-line-init
        """)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 500, 200, 0, 0))
    command, environment = [needs("zsh"), "-d", "-i"], {**BARE, "ZDOTDIR": os.getcwd()}
    shell = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True)
    os.close(slave)
    shown, typed = b"", [*(f"{line}\t\x18" for line in lines), "exit\r"]
    try:
        while select.select([master], [], [], 60)[0]:
            shown += os.read(master, 4096)
            if typed and shown.count(b"READY") == len(lines) + 2 - len(typed):  # zsh does not complete what is pasted
                os.write(master, typed.pop(0).encode())
    except OSError:  # the shell is gone
        pass
    finally:
        shell.kill()
        shell.wait()
        os.close(master)
    return Path("lines.txt").read_text().splitlines(), shown.decode(errors="replace")


def test_bash(script):
    def ask(line: str) -> list[str]:
        return ask_bash(name, line)

    name = script("bash")
    assert ask("pippin tr") == ["train"]
    assert [word for word in ask("pippin ") if not word.startswith("-")] == list(COMMANDS)
    assert {f"--{name}" for name in recipe_fields() if name != "data"} <= set(ask("pippin train --"))
    assert ask("pippin train --ep") == ["--epochs"]
    assert "--int8" not in ask("pippin train --")
    assert ask("pippin verify rows.csv --js") == ["--json"]
    assert ask("pippin train --no_bf") == ["--no_bf16"]
    assert ask("pippin train --device ") == ask("pippin predict --device=") == ["mps", "cuda", "cpu"]
    assert ask("pippin train --optim=adag") == ["adagrad"]
    assert ask("pippin train --lr ") == []
    assert ask("pippin train --output_dir p") == ["plain"]
    assert ask("pippin train --output pl") == ["plain"], "a folder for train"
    assert ask("pippin predict --output re") == ["re views.csv"], "and a file for predict"
    assert ask("pippin train --config=plain/") == ["plain/rows.csv"]
    assert ask("pippin train plain/r") == ["plain/rows.csv"]
    for command in ("predict", "chat", "resume", "report"):
        assert ask(f"pippin {command} ") == ["alone", "runs/other", "runs/reviews"]
        assert ask(f"pippin {command} runs/r") == ["runs/reviews"]
        assert ask(f"pippin {command} pl") == ["plain"], "where there is no run, any folder"
    assert ask("pippin help comp") == ["completion"]
    assert ask("pippin completion ") == list(SHELLS)
    assert ask("pippin doctor ") == ["--json", "--machine", "-h", "--help"]
    assert ask("pippin nonsense --") == []


def test_fish(script):
    def ask(line: str) -> dict[str, str]:
        return ask_fish(name, line)

    needs("fish")
    name = script("fish")
    assert ask("pippin tr") == {"train": COMMANDS["train"].summary}
    assert list(ask("pippin ")) == sorted(COMMANDS)
    assert {f"--{name}" for name in recipe_fields() if name != "data"} <= set(ask("pippin train --"))
    assert ask("pippin train --learn") == {"--learning_rate": "Peak learning rate"}
    assert set(ask("pippin train --device ")) == {"mps", "cuda", "cpu"}
    assert set(ask("pippin train --optim=adag")) == {"--optim=adagrad"}
    assert set(ask("pippin train --output_dir pl")) == {"plain/"}
    assert set(ask("pippin predict --file plain/")) == {"plain/rows.csv"}
    assert set(ask("pippin train plain/")) == {"plain/rows.csv"}
    assert set(ask("pippin predict ")) == {"alone", "runs/other", "runs/reviews"}
    assert set(ask("pippin resume pl")) == {"plain/"}
    assert set(ask("pippin completion ")) == set(SHELLS)
    assert set(ask("pippin train --lr ")) == set()


def test_zsh(script):
    needs("zsh")
    expected = {
        "pippin tra": "pippin train ",
        "pippin train --learn": "pippin train --learning_rate=",
        "pippin train --device=c": "pippin train --device=c",
        "pippin train --optim adaf": "pippin train --optim adafactor ",
        "pippin train --output_dir pl": "pippin train --output_dir plain/",
        "pippin predict x --file re": "pippin predict x --file re\\ views.csv ",
        "pippin predict runs/r": "pippin predict runs/reviews/",
        "pippin resume pl": "pippin resume plain/",
        "pippin report alone ru": "pippin report alone runs/",
        "pippin verify rows.csv --js": "pippin verify rows.csv --json ",
        "pippin completion z": "pippin completion zsh ",
        "pippin help comp": "pippin help completion ",
        "pippin train --text_col": "pippin train --text_column=",
        "pippin train --eval_s": "pippin train --eval_st",
    }
    lines, shown = ask_zsh(f"source {script('zsh')}", *expected)
    assert dict(zip(expected, lines, strict=True)) == expected
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert "cuda" in plain
    assert "runs/other" in plain
    assert "When to evaluate while training" in plain, "with the help of each flag"


def test_zsh_from_fpath(script):
    """As a file `_pippin` the script is the function itself."""
    needs("zsh")
    Path("functions").mkdir()
    Path(script("zsh")).rename("functions/_pippin")
    lines, _ = ask_zsh("fpath=($PWD/functions $fpath); compinit -u -D", "pippin tra", "pippin doctor --ma")
    assert lines == ["pippin train ", "pippin doctor --machine="]


def test_another_shell(run_cli):
    assert run_cli("completion", "basch") == (2, "", "pippin: pippin completion basch: there are zsh, bash, fish. "
                                              "Did you mean bash?\n")  # fmt: skip
    assert run_cli("completion") == (2, "", "pippin: name one SHELL, as in: pippin completion zsh\n")
    help = run_cli("help", "completion")[1]
    assert all(f"pippin completion {shell} >" in help for shell in SHELLS)
    assert "echo 'source ~/.pippin-completion.bash' >> ~/.bashrc" in help
