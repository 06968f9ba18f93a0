"""The words of `pippin train` as a Recipe, without running anything."""

from __future__ import annotations

from pippin.cli.command_line import read_line
from pippin.cli.commands import COMMANDS
from pippin.cli.train import read_job
from pippin.recipe.reading import Reading


def read_command(words: list[str]) -> Reading:
    return read_job(read_line(COMMANDS["train"], words))
