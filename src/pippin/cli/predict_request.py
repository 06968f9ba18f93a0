"""What `pippin predict` is asked for: the words of the command line, read and checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pippin.cli.output_file import output_problem
from pippin.errors import Mistakes, PippinError, nearest

_FLAGS = {"text", "text2", "file", "text_column", "output", "encoding", "device"}
_SWITCHES = {"int8", "overwrite", "quiet"}


@dataclass(frozen=True)
class Request:
    """A run, and the values of each flag in the order in which they were given; a switch has none."""

    run: str
    flags: dict[str, list[str]]

    def one(self, name: str) -> str | None:
        """The last value of a flag."""
        return self.flags[name][-1] if name in self.flags else None


def read_request(arguments: list[str]) -> Request:
    """The request, or all mistakes in it at once."""
    positional, flags, mistakes = [], dict[str, list[str]](), []
    known = sorted(_FLAGS | _SWITCHES)
    words = iter(arguments)
    for word in words:
        if not word.startswith("-"):
            positional.append(word)
            continue
        typed, equals, value = word.partition("=")
        name = "quiet" if typed == "-q" else typed.lstrip("-").replace("-", "_")
        if not word.startswith("--") and typed != "-q":
            mistakes.append(f"{typed}: flags start with two dashes.{nearest(name, known, '--')}")
        elif name not in known:
            mistakes.append(f"{typed}: there is no such flag.{nearest(name, known, '--')}")
        if name in _SWITCHES:
            flags[name] = []
            if equals:
                mistakes.append(f"{word}: {typed} takes no value.")
            continue
        following = value if equals else next(words, None)
        if following is None:
            mistakes.append(f"{typed} needs a value after it.")
        else:
            flags.setdefault(name, []).append(following)
    if len(positional) != 1:
        named = f"but {len(positional)} were named: {', '.join(positional)}" if positional else "but none was named"
        mistakes.append(f'name one RUN folder, {named}. Example: pippin predict runs/reviews --text "…"')
    mistakes += _contradictions(flags)
    if mistakes:
        raise Mistakes(mistakes)
    return Request(positional[0], flags)


def _contradictions(flags: dict[str, list[str]]) -> Iterator[str]:
    """What is wrong with flags that are well written."""
    if "text" in flags and "file" in flags:
        yield "--text and --file exclude each other."
    if "text2" in flags and len(flags["text2"]) != len(flags.get("text", [])):
        yield "--text2 goes with --text: give as many of one as of the other."
    if "text_column" in flags and "file" not in flags:
        yield "--text_column goes with --file: it names the columns of that file."
    if "output" in flags:
        yield from _output_problems(Path(flags["output"][-1]), flags)
    elif "overwrite" in flags:
        yield "--overwrite goes with --output: it is about that file."
    if "device" in flags:
        from pippin.machine.drivers import check_device_name

        try:
            check_device_name(flags["device"][-1])
        except PippinError as error:
            yield str(error)


def _output_problems(output: Path, flags: dict[str, list[str]]) -> Iterator[str]:
    if output.suffix.lower() not in (".csv", ".jsonl"):
        yield f"--output {output}: the name must end in .csv or .jsonl."
    standard_input = 0
    problem = output_problem("--output", output, "overwrite" in flags, [*flags.get("file", []), standard_input])
    if problem:
        yield problem
