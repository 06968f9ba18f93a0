"""From raw values (flags, a file, Python keywords) to a Recipe, with every mistake in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pippin.errors import Mistakes, PippinError, collecting, nearest, shown
from pippin.plain_files import parse_json
from pippin.recipe.checks import contradictions, remarks
from pippin.recipe.fields import Field, recipe_fields
from pippin.recipe.foreign import NOT_NEEDED, REFUSED, REFUSED_WHEN_OFF, SWITCHES, asks_for_nothing, is_off
from pippin.recipe.recipe import Recipe
from pippin.recipe.spelling import field_name, nearest_name

TRUE_WORDS, FALSE_WORDS = {"true", "yes", "on", "1", "t", "y"}, {"false", "no", "off", "0", "f", "n"}
#: Settings that a mapping from names to values may be given for.
BY_NAME = ("class_weights",)
#: Words that may stand for several, for which a list may be given.
LISTED = ("label_column",)
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
    source: str = ""
    """A file or a run, else the command line or Python: two names of one setting must agree within one source."""


@dataclass(frozen=True)
class Reading:
    """A Recipe and the notes on flags that were accepted without being needed or without effect."""

    recipe: Recipe
    notes: tuple[str, ...]


@dataclass
class Values:
    """Settings as values of their fields, and under which name the user knows each."""

    values: dict[str, Any] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)


def read_recipe(
    settings: Iterable[Given],
    mistakes: Iterable[str] = (),
    checks: Mapping[str, Callable[[Any], object]] | None = None,
) -> Reading:
    """Later settings win over earlier ones. Raises Mistakes with all that is wrong, also those found before.

    `checks` raise PippinError for values that only other packages can judge: field -> check.
    """
    read = read_values(settings, recipe_fields())
    mistakes = [*mistakes, *read.mistakes, *contradictions(read.values, read.said)]
    for name, check in (checks or {}).items():
        if read.values.get(name) is not None:
            with collecting(mistakes):
                check(read.values[name])
    if mistakes:
        raise Mistakes(mistakes)
    return Reading(Recipe(**read.values), tuple(dict.fromkeys([*read.notes, *remarks(read.values, read.said)])))


def recipe_from(values: dict[str, Any]) -> Reading:
    """A Recipe from Python keywords."""
    return read_recipe([Given(name, value, name) for name, value in values.items()])


def read_values(settings: Iterable[Given], fields: Mapping[str, Field]) -> Values:
    """The values of these fields, without a look at how they go together."""
    read = Values()
    latest: dict[str, Given] = {}
    for raw in settings:
        with collecting(read.mistakes):
            given = _without_no(raw, fields)
            name = field_name(given.name, fields)
            if name not in fields:
                read.notes += _foreign_note(given, fields)
            elif name == "token" and _to_bool(given.value) is not None:
                # Hugging Face's older scripts had a switch here. Off is as good as left out.
                if _to_bool(given.value):
                    read.notes.append(f"{given.said_as}: not needed: the stored login is used by itself.")
            else:
                value, before = convert(fields[name], given), latest.get(name, given)
                if before.source == given.source and before.name != given.name and read.values[name] != value:
                    raise PippinError(
                        f"{before.said_as} and {given.said_as} are two names of one setting, with different values. "
                        "Keep one."
                    )
                latest[name], read.values[name], read.said[name] = given, value, given.said_as
    return read


def is_known(name: str) -> bool:
    """Whether a name is a setting of a Recipe under any of its names, or one of Hugging Face's."""
    fields = recipe_fields()
    return field_name(name, fields) in fields or name in {*NOT_NEEDED, *REFUSED} or is_switch(name, fields)


def is_switch(name: str, fields: Mapping[str, Field]) -> bool:
    """Whether a name stands alone, without a value after it; `no_X` does for each switch X."""
    if found := fields.get(field_name(name, fields)):
        return found.kind is bool
    return name in SWITCHES or (name.startswith("no_") and is_switch(name[3:], fields))


def _without_no(given: Given, fields: Mapping[str, Field]) -> Given:
    """`no_X` as X turned off; anything else as it is."""
    if field_name(given.name, fields) in fields or not given.name.startswith("no_"):
        return given
    if not is_switch(given.name, fields):
        return given
    positive = given.name[3:]
    value = _to_bool(given.value)
    if value is None:
        raise PippinError(f"{given.said_as}: {shown(given.value)} is not true or false.")
    if value is False:
        prefix = "--" if given.said_as.startswith("--") else ""
        raise PippinError(
            f"{given.said_as}: {shown(given.value)} is a double no. Use {prefix}{positive} to turn it on, or leave it "
            "out."
        )
    return Given(positive, False, given.said_as, given.source)


def _foreign_note(given: Given, fields: Mapping[str, Field]) -> list[str]:
    """What to say of a name that is no field, at most one note; raises PippinError where it cannot be taken."""
    name, refused = given.name, REFUSED
    if name in REFUSED_WHEN_OFF and given.value is not None and is_off(given.value):
        refused = REFUSED_WHEN_OFF
    elif asks_for_nothing(name, given.value) and (name in NOT_NEEDED or name in REFUSED):
        return []
    elif name in NOT_NEEDED:
        return [f"{given.said_as}: not needed: {NOT_NEEDED[name]}."]
    if name in refused:
        reason, instead = refused[name]
        raise PippinError(f"{given.said_as} cannot be honoured: {reason}.{' ' + instead if instead else ''}")
    raise PippinError(f"{given.said_as}: there is no such setting.{nearest_name(name, fields)}")


def convert(field: Field, given: Given) -> Any:
    """A raw value as the field's type; raises PippinError naming the value and what is wanted."""
    value = given.value
    if value is None or (field.optional and isinstance(value, str) and value.lower() in ("none", "auto")):
        if field.optional or field.default is None:
            return None
        if field.kind is tuple and value is None and not given.said_as.startswith("--"):  # Python's and YAML's nothing
            return ()
        raise PippinError(f"{given.said_as} needs a value: {_wanted(field)}.")
    if field.kind in (str, tuple) and isinstance(value, str) and not value.strip():
        raise PippinError(f"{given.said_as} needs a value: {_wanted(field)}.")
    if field.name in BY_NAME and isinstance(value, Mapping):
        value = [f"{name}={number}" for name, number in value.items()]
    if field.name in LISTED and isinstance(value, (list, tuple)):
        value = ",".join(map(str, value))
    converted = _CONVERTERS[field.kind](value)
    if converted is None:
        raise PippinError(f"{given.said_as}: {shown(value)} is not {_wanted(field)}.")
    for word in (converted if field.kind is tuple else (converted,)) if field.choices else ():
        if word not in field.choices:
            hint = nearest(str(word), field.choices)
            raise PippinError(f"{given.said_as}: {shown(word)} is not one of {', '.join(field.choices)}.{hint}")
    return converted


def _wanted(field: Field) -> str:
    return "one of " + ", ".join(field.choices) if field.choices else _KIND_NAMES.get(field.kind, "a list of names")


def _to_bool(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    return True if word in TRUE_WORDS else False if word in FALSE_WORDS else None


def _to_int(value: Any) -> int | None:
    number = _to_float(value)
    return int(number) if number is not None and number == int(number) else None


def _to_float(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def _to_dict(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str):
        try:
            value = parse_json(value)
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
    list: lambda value: value if isinstance(value, list) else [str(value)],
    str: _to_str,
}
