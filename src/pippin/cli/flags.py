"""Flags as words: `--snake_case`, `--kebab-case`, `--name=value`, `--switch`, `--no_switch`, and the help page."""

from __future__ import annotations

import shutil
import textwrap
from dataclasses import dataclass

from pippin.errors import nearest
from pippin.recipe.fields import Field, recipe_fields
from pippin.recipe.foreign import ALIASES, SWITCHES
from pippin.recipe.reading import Given

_BOOLEAN_WORDS = {"true", "false", "yes", "no", "on", "off", "1", "0"}


@dataclass(frozen=True)
class Words:
    """A command line taken apart: settings in order, plain words, and what could not be understood."""

    settings: list[Given]
    positional: list[str]
    mistakes: list[str]


def split_words(arguments: list[str]) -> Words:
    """Take a command line apart without judging the values."""
    settings: list[Given] = []
    positional: list[str] = []
    mistakes: list[str] = []
    position = 0
    while position < len(arguments):
        word = arguments[position]
        position += 1
        if not word.startswith("--") or word == "--":
            if word.startswith("-") and len(word) == 2 and word[1].isalpha():
                mistakes.append(f"{word}: flags start with two dashes.{nearest(word[1:], list(recipe_fields()), '--')}")
            elif word != "--":
                positional.append(word)
            continue
        typed, equals, value = word.partition("=")
        name = typed[2:].replace("-", "_")
        following = arguments[position] if position < len(arguments) else None
        has_following = following is not None and not following.startswith("--")
        if equals:
            settings.append(Given(name, value, typed))
        elif _is_negated_switch(name):
            settings.append(Given(name[3:], False, typed))
        elif _is_switch(name):
            takes_word = has_following and following is not None and following.lower() in _BOOLEAN_WORDS
            settings.append(Given(name, following if takes_word else True, typed))
            position += takes_word
        elif has_following:
            settings.append(Given(name, following, typed))
            position += 1
        elif ALIASES.get(name, name) in recipe_fields() or name == "config":
            mistakes.append(f"{typed} needs a value after it.")
        else:
            settings.append(Given(name, True, typed))
    return Words(settings, positional, mistakes)


def _field(name: str) -> Field | None:
    return recipe_fields().get(ALIASES.get(name, name))


def _is_switch(name: str) -> bool:
    field = _field(name)
    return field.kind is bool if field else name in SWITCHES


def _is_negated_switch(name: str) -> bool:
    if _field(name) or not name.startswith("no_"):
        return False
    positive = _field(name[3:])
    return positive is not None and positive.kind is bool


def help_page(intro: str) -> str:
    """The intro, then every field by group, with its docstring as help."""
    width = min(shutil.get_terminal_size().columns, 110)
    lines = [intro.strip()]
    group = ""
    for field in recipe_fields().values():
        if field.name == "data":
            continue
        if field.group != group:
            group = field.group
            lines.append(f"\n{group}:")
        lines.append(f"  --{field.name}{_value_name(field)}")
        lines.append(textwrap.fill(_help_text(field), width, initial_indent=" " * 6, subsequent_indent=" " * 6))
    return "\n".join(lines)


def _value_name(field: Field) -> str:
    if field.kind is bool:
        return " [true|false]"
    if field.choices:
        return " " + "|".join(field.choices) if len(field.choices) <= 4 else " NAME"
    return {int: " N", float: " NUMBER", dict: " JSON", tuple: " NAME[,NAME]"}.get(field.kind, " WORD")


def _help_text(field: Field) -> str:
    text = field.help
    if len(field.choices) > 4:
        text += f" One of: {', '.join(field.choices)}."
    if "Default:" not in text and field.default not in (None, (), False):
        text += f" Default: {field.default}."
    return text
