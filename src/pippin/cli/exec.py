"""`pippin exec SCRIPT words…`: somebody's own script with Pippin's Trainer in place of transformers'."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass, field

from pippin.cli.command_line import read_line
from pippin.cli.commands import COMMANDS
from pippin.errors import PippinError
from pippin.machine.drivers import FALLBACK_VARIABLE, is_fallback_value, prepare_environment

#: Flags of Python's, without a value and with one. Left out: those after which nothing would be run.
_LETTERS, _WITH_VALUE = "bBdEIOPqRsSuv", "WX"


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code. What the script raises is not caught."""
    if not arguments:
        raise PippinError("name the script to run: pippin exec SCRIPT.py …. `pippin help exec` explains it.")
    asked = _taken_apart(arguments)
    if asked.flags:
        _begin_again_with(asked)
    _prepare_environment()
    from pippin.drop_in.script.runner import run_module, run_script

    (run_module if asked.is_module else run_script)(asked.target, asked.words, asked.data_dir)
    return 0


@dataclass
class _ScriptCall:
    """What stands on the command line: our flag, Python's, the script or module, and the words that are its own."""

    data_dir: str | None = None
    flags: list[str] = field(default_factory=list)
    target: str = ""
    is_module: bool = False
    words: list[str] = field(default_factory=list)


def _taken_apart(arguments: list[str]) -> _ScriptCall:
    asked, ours, rest = _ScriptCall(), list[str](), list(arguments)
    while rest and rest[0].startswith("-") and not asked.is_module:
        word = rest.pop(0)
        if word.startswith("--"):
            ours += [word] if "=" in word or not rest else [word, rest.pop(0)]
        else:
            _take_letters(word, rest, asked)
    line = read_line(COMMANDS["exec"], ours)
    folder = line.flags.data_dir
    line.refuse([f"--data_dir {folder}: there is no such folder."] if folder and not os.path.isdir(folder) else [])
    asked.data_dir = folder and os.path.abspath(folder)
    if asked.is_module:
        asked.words = rest
        return asked
    if not rest:
        raise PippinError("name the script to run: pippin exec [--data_dir FOLDER] SCRIPT.py …")
    asked.target, *asked.words = rest
    if asked.target.rpartition("/")[2] in ("python", "python3") and asked.words and not os.path.exists(asked.target):
        raise PippinError(f"leave out {asked.target}: pippin exec {shlex.join(asked.words[:1])} …")
    return asked


def _take_letters(word: str, rest: list[str], asked: _ScriptCall) -> None:
    """Flags in Python's own spelling: letters that may stand together, the last with a value."""
    for place, letter in enumerate(word[1:], 2):
        value = word[place:]
        if letter in _LETTERS:
            asked.flags.append(f"-{letter}")
        elif letter in _WITH_VALUE:
            if not value and not rest:
                raise PippinError(f"-{letter} needs a value: pippin exec -{letter} VALUE SCRIPT.py …")
            asked.flags += [f"-{letter}", value or rest.pop(0)]
            return
        elif letter == "m":
            if not value and not rest:
                raise PippinError("name the module: pippin exec -m PACKAGE.MODULE …")
            asked.target, asked.is_module = value or rest.pop(0), True
            return
        elif letter == "c":
            raise PippinError("-c: only scripts and modules can be run. Put the lines into a file: pippin exec FILE.py")
        else:
            raise PippinError(f"pippin exec -{letter}: Python has no such flag, or none that makes sense here.")


def _begin_again_with(asked: _ScriptCall) -> None:
    """Python reads its flags when it starts: this process becomes one that has them."""
    ours = ["--data_dir", asked.data_dir] if asked.data_dir else []
    target = ["-m", asked.target] if asked.is_module else [asked.target]
    before = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    sys.stdout.flush()
    words = [sys.executable, *before, *asked.flags, "-m", "pippin", "exec", *ours, *target, *asked.words]
    os.execv(sys.executable, words)


def _prepare_environment() -> None:
    """What torch reads when it is imported; the user's own setting stays."""
    found = os.environ.get(FALLBACK_VARIABLE) or "1"
    threads = os.environ.get("TOKENIZERS_PARALLELISM")
    prepare_environment(int(found) != 0 if is_fallback_value(found) else True)
    if threads is None:
        # A script may fork workers, where tokenizers itself must find out that its threads are gone.
        del os.environ["TOKENIZERS_PARALLELISM"]
