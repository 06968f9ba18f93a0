"""The dispatcher: finds the command's module, imports it alone, and turns a user's mistake into exit code 2."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from typing import TextIO

from pippin._version import __version__
from pippin.errors import PippinError, nearest
from pippin.redact import remember_secrets_of, without_secrets
from pippin.report.stream import let_go, replace_closed
from pippin.text import visible

#: command -> (module, one line for the help)
COMMANDS = {
    "train": (
        "pippin.cli.train",
        "Fine-tune a model on a file, a folder, a known task, or the built-in questions.",
    ),
    "preflight": ("pippin.cli.preflight", "Will this job run, fit and finish in time, here or on another Mac?"),
    "doctor": ("pippin.cli.doctor", "Is this computer ready? What was found, and what to type where it is not."),
    "resume": ("pippin.cli.resume", "Go on with a run that was interrupted, to the result that it would have had."),
    "verify": ("pippin.cli.verify", "Does the GPU give the CPU's results for this model and these rows?"),
    "predict": ("pippin.cli.predict", "Label texts with a trained model."),
    "bench": ("pippin.cli.bench", "How fast is a model on each device of this machine, and which one to use?"),
    "exec": (
        "pippin.cli.exec",
        "Run your own script for Hugging Face's Trainer, unmodified, with Pippin's in its place.",
    ),
    "report": ("pippin.cli.report", "The web page of a run, or of several beside each other."),
}


def usage() -> str:
    rows = "\n".join(f"  {name:10} {line}" for name, (_, line) in COMMANDS.items())
    return (
        "pippin: fine-tune Transformer models on the computer at hand.\n\n"
        f"Usage: pippin COMMAND [...]\n\nCommands:\n{rows}\n\n"
        "First steps:\n"
        "  pippin train                    built-in questions, built-in model: about a minute on a laptop\n"
        "  pippin train reviews.csv        your own file: columns found, split made, device chosen, model saved\n"
        '  pippin predict runs/reviews --text "What a lovely film"\n\n'
        "`pippin COMMAND --help` explains a command. `pippin --version` prints the version."
    )


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
    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help", "help"):
        print(usage())
        return 0
    if name in ("-V", "--version"):
        print(f"pippin {__version__}")
        return 0
    if name not in COMMANDS:
        raise PippinError(
            f"pippin {name}: there is no such command.{nearest(name, list(COMMANDS), 'pippin ')} See `pippin --help`."
        )
    return int(import_module(COMMANDS[name][0]).run(rest))


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
