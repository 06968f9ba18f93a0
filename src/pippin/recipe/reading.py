"""From raw values (flags, a file, Python keywords) to a Recipe, with every mistake in one go."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.errors import Mistakes, PippinError, nearest
from pippin.recipe.checks import contradictions
from pippin.recipe.fields import Field, recipe_fields
from pippin.recipe.foreign import ALIASES, NOT_NEEDED, REFUSED, is_off
from pippin.recipe.recipe import Recipe

_TRUE, _FALSE = {"true", "yes", "on", "1", "t", "y"}, {"false", "no", "off", "0", "f", "n"}
_KIND_NAMES = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a JSON object",
    str: "a word",
}


@dataclass(frozen=True)
class Given:
    """One setting as the user gave it, and how to name it in a message."""

    name: str
    value: Any
    said_as: str


@dataclass(frozen=True)
class Reading:
    """A Recipe and the notes on flags that were accepted without being needed."""

    recipe: Recipe
    notes: tuple[str, ...]


def read_recipe(settings: list[Given], mistakes: list[str] | None = None) -> Reading:
    """Later settings win over earlier ones. Raises Mistakes with all that is wrong, also those found before."""
    mistakes = list(mistakes or [])
    values: dict[str, Any] = {}
    said: dict[str, str] = {}
    notes: list[str] = []
    for given in settings:
        name = ALIASES.get(given.name, given.name)
        if name in NOT_NEEDED and not is_off(given.value):
            notes.append(f"{given.said_as}: not needed: {NOT_NEEDED[name]}.")
        field = recipe_fields().get(name)
        if field is None:
            mistakes.extend(_foreign_mistake(given, name))
            continue
        try:
            values[name], said[name] = convert(field, given), given.said_as
        except PippinError as error:
            mistakes.append(str(error))
    mistakes.extend(contradictions(values, said))
    if mistakes:
        raise Mistakes(mistakes)
    return Reading(Recipe(**values), tuple(dict.fromkeys(notes)))


def recipe_from(values: dict[str, Any]) -> Reading:
    """A Recipe from Python keywords."""
    return read_recipe([Given(name, value, name) for name, value in values.items()])


def settings_from_file(path: str) -> list[Given]:
    """The settings of a YAML or JSON file (YAML reads both)."""
    import yaml

    file = Path(path)
    try:
        loaded = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PippinError(f"--config {path}: there is no such file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PippinError(f"--config {path}: cannot be read ({error}).") from None
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" at line {where.line + 1}" if where else ""
        raise PippinError(f"--config {path}: not valid YAML or JSON{line}.") from None
    if not isinstance(loaded, dict):
        raise PippinError(f"--config {path}: expected `name: value` lines, found {type(loaded).__name__}.")
    return [Given(str(key).replace("-", "_"), value, f"{key} (in {path})") for key, value in loaded.items()]


def _foreign_mistake(given: Given, name: str) -> list[str]:
    """Why a name that is no field cannot be taken; nothing when it is merely not needed or turned off."""
    if name in NOT_NEEDED:
        return []
    if name in REFUSED:
        if is_off(given.value):
            return []
        reason, instead = REFUSED[name]
        return [f"{given.said_as} cannot be honoured: {reason}.{' ' + instead if instead else ''}"]
    prefix = "--" if given.said_as.startswith("--") else ""
    known = [*recipe_fields(), *ALIASES]
    return [f"{given.said_as}: there is no such setting.{nearest(name, known, prefix)}"]


def convert(field: Field, given: Given) -> Any:
    """A raw value as the field's type; raises PippinError naming the value and what is wanted."""
    value = given.value
    if value is None or (field.optional and isinstance(value, str) and value.lower() in ("none", "auto")):
        if field.optional or field.default is None:
            return None
        raise PippinError(f"{given.said_as} needs a value: {_wanted(field)}.")
    converted = _CONVERTERS[field.kind](value)
    if converted is None:
        raise PippinError(f"{given.said_as}: {value!r} is not {_wanted(field)}.")
    if field.choices and converted not in field.choices:
        hint = nearest(str(converted), field.choices)
        raise PippinError(f"{given.said_as}: {value!r} is not one of {', '.join(field.choices)}.{hint}")
    return converted


def _wanted(field: Field) -> str:
    return "one of " + ", ".join(field.choices) if field.choices else _KIND_NAMES.get(field.kind, "a list of names")


def _to_bool(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    return True if word in _TRUE else False if word in _FALSE else None


def _to_int(value: Any) -> int | None:
    number = _to_float(value)
    return int(number) if number is not None and number == int(number) else None


def _to_float(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < float("inf") else None


def _to_dict(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def _to_tuple(value: Any) -> tuple[str, ...] | None:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    return tuple(str(item) for item in value) if isinstance(value, (list, tuple)) else None


def _to_str(value: Any) -> str | None:
    if isinstance(value, bool):
        # YAML reads a bare `no` as False; as a word it is what the user wrote.
        return "no" if value is False else "yes"
    return str(value) if isinstance(value, (str, int, float, Path)) else None


_CONVERTERS: dict[type, Any] = {
    bool: _to_bool,
    int: _to_int,
    float: _to_float,
    dict: _to_dict,
    tuple: _to_tuple,
    str: _to_str,
}
