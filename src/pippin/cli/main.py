"""The dispatcher: reads the command line, imports the command's module alone, turns a mistake into exit code 2."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import TextIO

from pippin._version import __version__
from pippin.cli.command_line import read_line
from pippin.cli.commands import COMMANDS, Command
from pippin.errors import PippinError, nearest
from pippin.machine.launch import place_here
from pippin.redact import remember_secrets_of, without_secrets
from pippin.report.stream import let_go, replace_closed
from pippin.text import visible


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] == ["exec"] and not {"-h", "--help"} & set(arguments[1:2]):
        return _run_script(arguments[1:])
    replace_closed()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without UTF-8 gets question marks, not a crash
            stream.reconfigure(errors="replace")
    remember_secrets_of(arguments[1:])
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except PippinError as error:
        _complain(str(error))
        return 2
    except BrokenPipeError:  # e.g. `pippin predict … | head`
        _settle(sys.stdout)
        return 0
    except OSError as error:
        _complain(f"{error.filename2 or error.filename or 'a file or standard output'}: {error.strerror or error}.")
        _settle(sys.stdout)
        return 2
    except KeyboardInterrupt as error:
        _complain(str(error) or "interrupted.")
        return 128 + getattr(error, "signal", 2)


def _run(arguments: list[str]) -> int:
    name, *rest = arguments or ["help"]
    if name == "join":  # what `--hosts` starts on other computers
        from pippin.cli.join import run

        return run()
    name = {"-h": "help", "--help": "help", "-V": "version", "--version": "version"}.get(name, name)
    command = _command(name)
    if {"-h", "--help"} & set(rest) and name != "help":
        name, rest = "help", [name]
    if name == "help":
        from pippin.cli.help import command_help, overview

        topics = [word for word in rest if not word.startswith("-")]
        print(command_help(_command(topics[0])) if topics else overview())
        return 0
    if name == "version":
        print(f"pippin {__version__}")
        return 0
    if name not in ("train", "resume") and (place := place_here()).size > 1:
        if not place.is_first:
            return 2
        raise PippinError(
            f"pippin {name} runs in one process, but {place.launcher} has started {place.size}. Start it without."
        )
    return int(import_module(f"pippin.cli.{name}").run(read_line(command, rest)))


def _command(name: str) -> Command:
    if name not in COMMANDS:
        raise PippinError(
            f"pippin {name}: there is no such command.{nearest(name, list(COMMANDS), 'pippin ')} See `pippin help`."
        )
    return COMMANDS[name]


def _run_script(arguments: list[str]) -> int:
    """`pippin exec`: streams, errors and exit code are the script's own, but for what Pippin itself has to say."""
    from pippin.cli.exec import run

    remember_secrets_of(arguments)
    try:
        return run(arguments)
    except PippinError as error:
        _complain(str(error))
        return 2


def _settle(stream: TextIO) -> None:
    """Print what is left; a stream that takes no more leads nowhere from here on."""
    try:
        stream.flush()
    except OSError:
        let_go(stream)


def _complain(text: str) -> None:
    """One message on standard error; what it quotes cannot steer the terminal, and no token is among it."""
    if sys.stderr is not None:  # else it would be printed among the output
        with suppress(OSError):  # the terminal may be gone
            print(f"pippin: {visible(without_secrets(text))}", file=sys.stderr)
