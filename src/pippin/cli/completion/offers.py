"""What can follow on a command line, from the one table of commands and flags."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pippin.cli.commands import COMMANDS, Command
from pippin.cli.help import names_of, value_name
from pippin.machine.chips import CHIPS
from pippin.machine.drivers import DEVICES
from pippin.recipe.data_fields import TAGGING_TASKS
from pippin.recipe.fields import Field
from pippin.tasks.sequence.known import TASKS

SHELLS = ("zsh", "bash", "fish")

#: Words for flags that take others too.
_WORDS = {
    "device": DEVICES,
    "task_name": (*TASKS, *TAGGING_TASKS),
    "chip": tuple(CHIPS),
    "freeze": ("core",),
    "encoding": tuple("utf-8 utf-16 latin-1 cp1252 cp1251 cp1256 gb18030 big5 shift_jis euc-jp cp949".split()),
}
#: Flags whose value may be a folder, though that is not in its name.
_FOLDERS = {"model_name_or_path", "config_name", "tokenizer_name", "resume_from_checkpoint"}


@dataclass(frozen=True)
class Offer:
    """What a value or a word can be; nothing where only the user knows."""

    words: tuple[str, ...] = ()
    paths: Literal["", "files", "folders", "runs"] = ""


@dataclass(frozen=True)
class Flag:
    names: tuple[str, ...]
    """With their dashes."""
    help: str
    value: str = ""
    """What the help calls its value; "" for a switch."""
    offer: Offer = Offer()
    repeats: bool = False


HELP_FLAG = Flag(("-h", "--help"), "Explain the command")


def flags_of(command: Command, of_recipe: bool) -> list[Flag]:
    """The settings of a job that a command takes as flags, or its own flags."""
    fields = [field for field in command.fields.values() if (field.name not in command.own_fields) == of_recipe]
    return [flag for field in fields if field.name != "data" for flag in _flags(field)]


def words_of(command: Command) -> Offer:
    """What its words are that are no flags."""
    if command.word in ("COMMAND", "SHELL"):
        return Offer(tuple(COMMANDS) if command.word == "COMMAND" else SHELLS)
    return Offer(paths="runs" if "RUN" in command.word else "files" if command.word else "")


def _flags(field: Field) -> list[Flag]:
    summary = re.split(r"[.;] ", field.help.replace("`", ""))[0].rstrip(".")
    if field.kind is bool:
        off = [Flag((f"--no_{field.name}",), f"Turn off --{field.name}")] if field.default in (None, True) else []
        return [Flag(names_of(field), summary), *off]
    return [Flag(names_of(field), summary, value_name(field), _offer(field), repeats=field.kind is list)]


def _offer(field: Field) -> Offer:
    if words := field.choices or _WORDS.get(field.name, ()):
        return Offer(words)
    value = "FOLDER" if field.name in _FOLDERS else value_name(field)
    return Offer(paths="files" if value == "FILE" else "folders" if value == "FOLDER" else "")
