"""`pippin export`: write a trained language model for other programs."""

from __future__ import annotations

from collections.abc import Iterator

from pippin.cli.command_line import CommandLine
from pippin.cli.flags import ExportFlags
from pippin.machine.drivers import prepare_environment
from pippin.text import visible


def run(line: CommandLine) -> int:
    """Run the command; returns the exit code."""
    flags: ExportFlags = line.flags
    line.refuse(_mistakes(flags, line.mistakes))
    prepare_environment()
    from pippin.commands.export.export import export

    def tell(text: str) -> None:
        print(visible(text))

    export(line.words[0], tell=tell, **vars(flags))
    return 0


def _mistakes(flags: ExportFlags, others: list[str]) -> Iterator[str]:
    if flags.to is None and not others:  # else a mistyped flag may have been this one
        yield "--to is missing: name a format (merged, peft, mlx or gguf)."
    if flags.to == "gguf" and flags.output and not flags.output.endswith(".gguf"):
        yield f"--output {flags.output}: the name of a GGUF file must end in .gguf."
    if flags.text_column and not flags.file:
        yield "--text_column goes with --file: it names the columns of that file."
