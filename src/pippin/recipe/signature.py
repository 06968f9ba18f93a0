"""The settings as Python sees them: parameters with their types, and help for each."""

from __future__ import annotations

import inspect
import re
import textwrap
import typing
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

from pippin.recipe.fields import GROUPS, Field, recipe_fields
from pippin.recipe.foreign import SHORT_NAMES
from pippin.recipe.reading import BY_NAME
from pippin.recipe.recipe import Recipe

#: Settings that may be given as a path.
_PATHS = {
    "data_dir", "train_file", "validation_file", "test_file", "model_name_or_path", "config_name", "tokenizer_name",
    "cache_dir", "output_dir", "logging_dir",
}  # fmt: skip
#: A flag in a message and the word behind it, which may be its value.
_FLAG = re.compile(r"--(\w+)(?:[ =](\w[\w:,.]*\w|\w))?")
#: Values that are written as they are: numbers, and words to be replaced.
_PLAIN_VALUE = re.compile(r"\d[\d.]*|[A-Z]+(?:,[A-Z]+)*")


def python_settings() -> dict[str, Field]:
    """The settings that are given by keyword: all but the rows themselves."""
    return {name: field for name, field in recipe_fields().items() if name not in ("data", "quiet")}


def python_type(name: str) -> Any:
    """What a setting may be given as."""
    hint = typing.get_type_hints(Recipe)[name]
    if name == "resume_from_checkpoint":
        return bool | str | PathLike[str] | None
    if name in _PATHS:
        return str | PathLike[str] | None
    if name in BY_NAME:
        return str | Sequence[str] | Mapping[str, float] | None
    if recipe_fields()[name].kind is tuple:
        return str | Sequence[str] | None
    return hint


def with_settings(function: Callable[..., Any]) -> None:
    """Give a function that takes ``**settings`` the signature and the help of all of them."""
    own = inspect.signature(function)
    fixed = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    settings = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=python_type(name))
        for name, field in python_settings().items()
    ]
    function.__signature__ = own.replace(parameters=[*fixed, *settings])  # type: ignore[attr-defined]
    function.__doc__ = f"{inspect.getdoc(function)}\n\n{settings_help()}\n"


def settings_help() -> str:
    """Every setting with its help, by group."""
    fields, lines = python_settings(), []
    for group in GROUPS:
        lines += ["", f"{group}:"]
        for name in (name for name, field in fields.items() if field.group == group):
            lines += [f"    {name}", *textwrap.wrap(in_python(fields[name].help), 100, initial_indent=" " * 8,
                                                   subsequent_indent=" " * 8)]  # fmt: skip
    short = ", ".join(f"{short} for {name}" for short, name in SHORT_NAMES.items())
    return "\n".join([*lines[1:], "", f"Short names: {short}."])


def in_python(text: str) -> str:
    """A message about flags as one about keywords.

    >>> in_python("Add --skip_bad_rows, --text_column NAME or --validation_split 0. With --do_train: 8")
    'Add skip_bad_rows=True, text_column=NAME or validation_split=0. With do_train=True: 8'
    >>> in_python("Try --mps_fallback on, --freeze core, or leave --device out")
    'Try mps_fallback="on", freeze="core", or leave device out'
    >>> in_python("Try more epochs (--epochs) or --lr 0.001; pippin predict --text x")
    'Try more epochs (epochs) or lr=0.001; pippin predict --text x'
    """
    fields = recipe_fields()

    def keyword(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        field, rest = fields.get(SHORT_NAMES.get(name, name)), f" {value}" if value else ""
        if field is None:
            return found[0]
        if field.kind is bool:
            return f"{name}=True{rest}"
        if value and _PLAIN_VALUE.fullmatch(value):
            return f"{name}={value}"
        is_judged = text.startswith(":", found.end())  # as in "--device gpu: there is no such device"
        if value and (is_judged or value in (*(field.choices or ()), "core")):
            return f'{name}="{value}"'
        return name + rest

    return _FLAG.sub(keyword, text)
