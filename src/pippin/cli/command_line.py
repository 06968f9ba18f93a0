"""The one parser: a command line taken apart by the command's table, with all that is wrong in it.

Flags are `--snake_case` or `--kebab-case`, `--name value` or `--name=value`, `--switch` or `--no_switch`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from pippin.cli.commands import COMMANDS, Command
from pippin.errors import Mistakes
from pippin.recipe.fields import Field
from pippin.recipe.foreign import SWITCH_WORDS
from pippin.recipe.reading import FALSE_WORDS, TRUE_WORDS, Given, is_known, is_switch, read_values
from pippin.recipe.spelling import field_name, nearest_name

#: The flags with one dash: letter -> name.
LETTERS = {"q": "quiet", "o": "output", "h": "help"}


@dataclass
class CommandLine:
    """What was typed: plain words, the command's own flags, the job's settings in their order, and mistakes."""

    words: list[str]
    flags: Any
    settings: list[Given]
    mistakes: list[str]

    def refuse(self, more: Iterable[str] = ()) -> None:
        """Stop with all that is wrong, if anything is."""
        if mistakes := [*self.mistakes, *more]:
            raise Mistakes(mistakes)


def read_line(command: Command, arguments: list[str]) -> CommandLine:
    """Take a command line apart. The values of the command's own flags are judged, those of the job's are not yet."""
    given: list[Given] = []
    words: list[str] = []
    mistakes: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not _is_flag(word):
            words.append(word)
            continue
        typed, equals, behind = word.partition("=")
        name = _name(typed, command)
        field = command.fields.get(field_name(name, command.fields))
        value: Any = behind if equals else rest.pop(0) if rest and _is_value(name, rest[0], command) else True
        if problem := _flag_problem(typed, name, command):
            mistakes.append(problem)
        elif field and value is True and field.kind is not bool and name != "use_auth_token":
            mistakes.append(f"{typed} needs a value after it.")
        else:
            if field and field.kind in (tuple, list):
                value = _with_others(value, field, rest, [each.value for each in given if each.name == name])
            given.append(Given(name, value, typed))
    own = {place for place, each in enumerate(given) if field_name(each.name, command.own_fields) in command.own_fields}
    read = read_values([given[place] for place in sorted(own)], command.own_fields)
    settings = [each for place, each in enumerate(given) if place not in own]
    mistakes += read.mistakes
    if problem := _number_problem(command, words, has_mistakes=bool(mistakes)):
        mistakes.append(problem)
    return CommandLine(words, command.flags(**read.values), settings, mistakes)


def _is_flag(word: str) -> bool:
    """Two dashes, or one before a letter; `-1` and `-.5` are numbers."""
    return (word.startswith("--") and word != "--") or (word.startswith("-") and word[1:2].isalpha())


def _name(typed: str, command: Command) -> str:
    name = typed.lstrip("-").replace("-", "_")
    if not typed.startswith("--") and field_name(LETTERS.get(name, ""), command.fields) in command.fields:
        return LETTERS[name]
    return name


def _is_value(name: str, following: str, command: Command) -> bool:
    """Whether the word after a flag is its value rather than the next flag or the FILE."""
    field = command.fields.get(field_name(name, command.fields))
    if field and field.kind is list:  # a text may be anything but another flag
        return not (_is_flag(following) and _is_flag_of(command, _name(following.partition("=")[0], command)))
    if following == "--" or _is_flag(following):
        return False
    is_boolean = following.lower() in TRUE_WORDS | FALSE_WORDS | SWITCH_WORDS.get(name, set())
    if name == "use_auth_token":  # once a switch, then a token: letters, digits and _, as few files are named
        return is_boolean or (re.fullmatch(r"\w+", following) is not None and not Path(following).exists())
    return is_boolean or not is_switch(name, command.fields)


def _with_others(value: str, field: Field, rest: list[str], earlier: list[Any]) -> str | list[str]:
    """The value of a flag that takes several, with those that the same flag had before."""
    if field.kind is list:
        return [*(earlier[-1] if earlier else ()), value]
    more = list(takewhile(lambda word: word in field.choices, rest))  # `--report_to tensorboard wandb`
    del rest[: len(more)]
    return ",".join([*earlier[-1:], value, *more])


def _is_flag_of(command: Command, name: str) -> bool:
    fields = command.fields
    if field_name(name, fields) in fields or (command.takes_recipe and is_known(name)):
        return True
    return name.startswith("no_") and name[3:] in fields and is_switch(name, fields)


def _flag_problem(typed: str, name: str, command: Command) -> str | None:
    """What is wrong with a flag's name, and what it may have been meant to be."""
    one_dash = not typed.startswith("--") and name == typed.lstrip("-").replace("-", "_")
    is_known_here = _is_flag_of(command, name)
    if is_known_here and not one_dash:
        return None
    hint = f" Did you mean --{name}?" if is_known_here else nearest_name(name, command.fields, "--")
    if one_dash:
        return f"{typed}: flags start with two dashes.{hint}"
    if command.unknown:
        return f"{typed}: pippin {command.name} has no such flag.{hint} {command.unknown}"
    owners = [f"pippin {other.name}" for other in COMMANDS.values() if _is_flag_of(other, name)]
    if owners:
        listed = " and ".join(filter(None, [", ".join(owners[:-1]), owners[-1]]))
        return f"{typed} belongs to {listed}, not to pippin {command.name}."
    return f"{typed}: there is no such flag.{hint}"


def _number_problem(command: Command, words: list[str], has_mistakes: bool) -> str | None:
    """What is wrong with how many plain words there are."""
    if command.most is not None and len(words) > command.most:
        if not command.most:
            return f"{words[0]}: pippin {command.name} takes flags only."
        return f"one {command.word} at a time, but {len(words)} were named: {', '.join(words)}."
    if len(words) < command.least and not has_mistakes:  # else a flag that is none may have taken the word
        return f"name {'one' if command.most else 'a'} {command.word}, as in: {command.examples[0][0]}"
    return None
