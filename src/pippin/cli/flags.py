"""Flags as words: `--snake_case`, `--kebab-case`, `--name=value`, `--switch`, `--no_switch`, and the help page."""

from __future__ import annotations

import re
import shutil
import textwrap
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from pippin.errors import nearest
from pippin.recipe.fields import Field, recipe_fields
from pippin.recipe.foreign import ALIASES, SWITCH_WORDS
from pippin.recipe.reading import FALSE_WORDS, TRUE_WORDS, Given, is_switch

#: The only flags with one dash.
_SHORT = {"q": "quiet"}


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
        if not _is_flag(word):
            if word != "--":
                positional.append(word)
            continue
        typed, equals, value = word.partition("=")
        one_dash = not typed.startswith("--")
        name = typed[1 if one_dash else 2 :].replace("-", "_")
        if one_dash and name in _SHORT:
            one_dash, name = False, _SHORT[name]
        following = arguments[position] if position < len(arguments) else None
        takes_word = not equals and following is not None and _is_value_of(name, following)
        position += takes_word
        if one_dash:
            mistakes.append(f"{typed}: flags start with two dashes.{_two_dashes(name)}")
        elif not equals and not takes_word and _needs_value(name):
            mistakes.append(f"{typed} needs a value after it.")
        else:
            given = Given(name, value if equals else following if takes_word else True, typed)
            more = _more_names(name, arguments[position:])
            position += len(more)
            settings.append(_with_others(given, more, settings))
    return Words(settings, positional, mistakes)


def _names(name: str) -> tuple[str, ...]:
    """The names that a flag takes one or several of; nothing for all other flags."""
    field = recipe_fields().get(name)
    return field.choices if field is not None and field.kind is tuple else ()


def _more_names(name: str, words: list[str]) -> list[str]:
    """`--report_to tensorboard wandb`, as Hugging Face's scripts take it: the names after the first."""
    return list(takewhile(lambda word: word in _names(name), words))


def _with_others(given: Given, more: list[str], before: list[Given]) -> Given:
    """A flag that takes several names, with those of the same flag before it."""
    if not _names(given.name):
        return given
    earlier = [str(other.value) for other in before if other.name == given.name][-1:]
    return Given(given.name, ",".join([*earlier, str(given.value), *more]), given.said_as)


def _is_flag(word: str) -> bool:
    """Two dashes, or by mistake one before a letter; `-1` and `-.5` are numbers."""
    return (word.startswith("--") and word != "--") or (word.startswith("-") and word[1:2].isalpha())


def _is_value_of(name: str, following: str) -> bool:
    """Whether the word after a flag is its value rather than the next flag or the FILE."""
    if following == "--" or _is_flag(following):
        return False
    is_boolean = following.lower() in TRUE_WORDS | FALSE_WORDS | SWITCH_WORDS.get(name, set())
    if name == "use_auth_token":  # once a switch, then a token: letters, digits and _, as few files are named
        return is_boolean or (re.fullmatch(r"\w+", following) is not None and not Path(following).exists())
    return is_boolean or not is_switch(name)


def _needs_value(name: str) -> bool:
    if name == "config":
        return True
    known = ALIASES.get(name, name) in recipe_fields()
    return known and not is_switch(name) and name != "use_auth_token"


def _two_dashes(name: str) -> str:
    """What a flag with one dash was meant to be."""
    known = [*recipe_fields(), *ALIASES, "config", "help"]
    return f" Did you mean --{name}?" if name in known or is_switch(name) else nearest(name, known, "--")


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
    if field.choices and field.kind is not tuple:
        return " " + "|".join(field.choices) if len(field.choices) <= 4 else " NAME"
    return {int: " N", float: " NUMBER", dict: " JSON", tuple: " NAME[,NAME]"}.get(field.kind, " WORD")


def _help_text(field: Field) -> str:
    text = field.help
    if len(field.choices) > 4:
        text += f" One of: {', '.join(field.choices)}."
    if "Default:" not in text and field.default not in (None, (), False):
        text += f" Default: {field.default}."
    return text
