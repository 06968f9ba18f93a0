"""Writes docs/commands.md from the one table of commands, so that the page cannot fall behind the code.

python docs/make_commands.py
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

from pippin.cli.commands import COMMANDS, Command
from pippin.recipe.fields import GROUPS, Field, recipe_fields
from pippin.recipe.foreign import SHORT_NAMES

PAGE = Path(__file__).parent / "commands.md"
INTRO = """# Command reference

`pippin help` lists the commands, and `pippin COMMAND --help` explains one of them. This page holds the same text.

You can write flags as `--like_this` or `--like-this`, and give values as `--name value` or `--name=value`. To turn a
switch off, write `--no_name` or `--name false`.

Exit codes: 0 if all went well, 2 if something must be fixed first. `doctor`, `verify` and `preflight` return 1 if the
answer is no.
"""
SETTINGS = """## Settings of a job {#settings}

`train`, `resume`, `preflight` and `verify` take these flags. In Python, they are the keywords of `pippin.train()`. In
a file for `--config`, they are the keys.
"""
_FLAG = re.compile(r"(?<![\w-])--\w[\w-]*|[_*<]")
KINDS = {str: "text", int: "integer", float: "number", bool: "true/false", dict: "JSON", tuple: "names", list: "texts"}


def page() -> str:
    parts = [INTRO, "| command | what it does |\n|---|---|"]
    parts += [f"| [`pippin {each.name}`](#{each.name}) | {each.summary} |" for each in COMMANDS.values()]
    parts += [_section(command) for command in COMMANDS.values()]
    parts.append("\n" + SETTINGS)
    fields = recipe_fields().values()
    for group in GROUPS:
        parts.append(f"### {group}\n\n{_table(field for field in fields if field.group == group)}\n")
    return "\n".join(parts)


def _section(command: Command) -> str:
    usage = "\n".join(f"pippin {command.name} {words}".rstrip() for words in command.usage)
    parts = [f"\n## pippin {command.name} {{#{command.name}}}", _plain(command.about or command.summary)]
    parts.append(f"```text\n{usage}\n```")
    if command.examples:
        typed = (f"{line}    # {what}" if what else line for line, what in command.examples)
        parts.append("```bash\n" + "\n".join(typed) + "\n```")
    if command.own_fields:
        parts.append(_table(command.own_fields.values()))
    if command.takes_recipe:
        parts.append("It also takes the [settings of a job](#settings).")
    return "\n\n".join([*parts, *filter(None, [_plain(command.notes)])])


def _plain(text: str) -> str:
    paragraphs = textwrap.dedent(text).strip().split("\n\n")
    return "\n\n".join(_cell(" ".join(each.split())) for each in paragraphs)


def _table(fields: Iterable[Field]) -> str:
    rows = [f"| {_names(field)} | {_kind(field)} | {_cell(field.help)}{_default(field)} |" for field in fields]
    return "\n".join(["| flag | value | what it does |", "|---|---|---|", *rows])


def _names(field: Field) -> str:
    if field.name == "data":
        return "FILE or FOLDER"
    shorter = [name for name, meant in SHORT_NAMES.items() if meant == field.name]
    return ", ".join(f"`--{name}`" for name in [field.name, *shorter])


def _kind(field: Field) -> str:
    if field.choices:
        return ", ".join(f"`{choice}`" for choice in field.choices)
    return KINDS[field.kind]


def _default(field: Field) -> str:
    unset = field.default in (None, (), False)
    return "" if unset or "Default:" in field.help else f" Default: {field.default}."


def _cell(text: str) -> str:
    """Text from docstrings: flags as code, and what Markdown would take for its own marks left as it is."""
    parts = re.split(r"(`[^`]*`)", text.replace("|", "\\|"))
    return "".join(part if part.startswith("`") else _FLAG.sub(_marked, part) for part in parts)


def _marked(found: re.Match[str]) -> str:
    return f"`{found[0]}`" if found[0].startswith("--") else {"<": "&lt;"}.get(found[0], f"\\{found[0]}")


if __name__ == "__main__":
    PAGE.write_text(page())
