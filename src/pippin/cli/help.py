"""Help, made from the table of commands and the docstrings of their flags, as wide as the terminal."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable

from pippin.cli.command_line import LETTERS
from pippin.cli.commands import COMMANDS, Command
from pippin.recipe.fields import COMMON, Field
from pippin.recipe.foreign import SHORT_NAMES
from pippin.recipe.spelling import field_name

_WIDEST = 110
_VALUE_NAMES = {
    "output": "FILE", "machine": "FILE", "config": "FILE", "chart": "FILE", "page": "FILE", "memory": "GB",
    "macos": "VERSION", "torch": "VERSION", "text": "TEXT", "text2": "TEXT", "system": "TEXT", "cool_down": "SECONDS",
}  # fmt: skip
_BY_KIND = {int: "N", float: "NUMBER", dict: "JSON", tuple: "NAME[,NAME]"}


def overview() -> str:
    """`pippin help`."""
    rows = [(command.name, command.summary) for command in COMMANDS.values()]
    steps = [
        ("pippin train", "built-in questions, built-in model: about a minute on a laptop"),
        ("pippin train reviews.csv", "your own file: finds the columns, splits the rows, picks the device"),
        ('pippin predict runs/reviews --text "What a lovely film"', ""),
    ]
    return "\n".join(
        [
            _filled("pippin: fine-tune Transformer models on the computer at hand."),
            "\nUsage: pippin COMMAND [...]\n\nCommands:",
            *_columns(rows),
            "\nFirst steps:",
            *_columns(steps),
            "",
            _filled("`pippin help COMMAND` or `pippin COMMAND --help` explains a command."),
        ]
    )


def command_help(command: Command) -> str:
    """`pippin help COMMAND`, which is `pippin COMMAND --help`."""
    starts = [f"{'Usage:' if not place else '      '} pippin {command.name}" for place in range(len(command.usage))]
    usage = [_filled(f"{start} {words}", "", " " * 11) for start, words in zip(starts, command.usage, strict=True)]
    parts = ["\n".join(usage), *_paragraphs(command.about or command.summary)]
    if command.examples:
        parts.append("\n".join(_columns(command.examples)))
    if command.name == "train":
        parts += _recipe_flags(command)
    elif command.own_fields:
        parts.append(_flags("Flags", command.own_fields.values()))
    if command.takes_recipe and command.name != "train":
        parts.append(_filled("Also takes all flags of `pippin train`: see `pippin help train`."))
    return "\n\n".join([*parts, *_paragraphs(command.notes)])


def _recipe_flags(command: Command) -> list[str]:
    """The job's settings: the common ones, then the others by group."""
    others = [field for name, field in command.fields.items() if field.group and name not in {*COMMON, "data"}]
    groups = dict.fromkeys(field.group for field in others)
    return [
        _flags("Common flags", (command.fields[name] for name in [*COMMON, *command.own_fields])),
        *(_flags(group, (field for field in others if field.group == group)) for group in groups),
    ]


def _flags(title: str, fields: Iterable[Field]) -> str:
    return "\n".join([f"{title}:", *(f"{_heading(field)}\n{_filled(_help_text(field), ' ' * 6)}" for field in fields)])


def _heading(field: Field) -> str:
    """`-o, --output, --output_dir FOLDER`: all names that are in use, and what to put after them."""
    return _filled(f"{', '.join(names_of(field))} {value_name(field)}".rstrip(), "  ", " " * 6)


def names_of(field: Field) -> tuple[str, ...]:
    """The names of a flag that are in use, with their dashes."""
    shorter = [name for name, meant in SHORT_NAMES.items() if meant == field.name]
    fields = {field.name: field}
    letters = [f"-{letter}" for letter, name in LETTERS.items() if field_name(name, fields) == field.name]
    return (*letters, *(f"--{name}" for name in [*shorter, field.name]))


def value_name(field: Field) -> str:
    """What the help calls the value of a flag; "" for a switch."""
    if field.kind is bool:
        return "[true|false]" if field.default in (None, True) else ""
    if field.choices and field.kind is not tuple:
        return "|".join(field.choices) if len(field.choices) <= 4 else "NAME"
    if name := _BY_KIND.get(field.kind) if field.name not in _VALUE_NAMES else _VALUE_NAMES[field.name]:
        return name
    return "FILE" if field.name.endswith("file") else "FOLDER" if field.name.endswith("_dir") else "NAME"


def _help_text(field: Field) -> str:
    text = field.help
    if len(field.choices) > 4:
        text += f" One of: {', '.join(field.choices)}."
    if "Default:" not in text and field.default not in (None, (), False):
        text += f" Default: {field.default}."
    return text


def _width() -> int:
    return max(30, min(shutil.get_terminal_size().columns, _WIDEST))


def _filled(text: str, first: str = "", others: str | None = None) -> str:
    indents = {"initial_indent": first, "subsequent_indent": first if others is None else others}
    return textwrap.fill(text, _width(), break_long_words=False, break_on_hyphens=False, **indents)  # type: ignore[arg-type]


def _paragraphs(text: str) -> list[str]:
    paragraphs = [" ".join(each.split()) for each in textwrap.dedent(text).strip().split("\n\n")]
    return [_filled(each, "", "  " if each.startswith("- ") else "") for each in paragraphs if each]


def _columns(rows: Iterable[tuple[str, str]]) -> list[str]:
    """What to type on the left, what it is on the right; below each other where there is no room."""
    rows = list(rows)
    left = max((len(typed) for typed, what in rows if what), default=0) + 4
    lines = []
    for typed, what in rows:
        if what and left + 40 <= _width():
            lines.append(_filled(what, f"  {typed:{left - 2}}", " " * left))
        else:
            lines.append(_command(typed))
            lines += [_filled(what, " " * 6)] if what else []
    return lines


def _command(typed: str) -> str:
    """A command as it can be typed, over several lines where it is long."""
    whole = re.sub(r"'[^']*'|" r'"[^"]*"|(--\w+|>) (?!-)', lambda together: together[0].replace(" ", "\0"), typed)
    lines = textwrap.wrap(whole, _width() - 8, break_long_words=False, break_on_hyphens=False)
    return "  " + " \\\n      ".join(lines).replace("\0", " ")
