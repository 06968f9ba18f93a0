"""Plain data to JSON and back: each of the five nouns is a frozen dataclass that these two functions carry."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from typing import Any, Literal, TypeVar, Union

T = TypeVar("T")

#: A file may be anybody's: what it holds is of the kind that the field says, or it is refused.
_KINDS: dict[Any, str] = {str: "a word", int: "a whole number", float: "a number", bool: "true or false"}
#: Beyond this a whole number was written by nobody who counted.
_LARGEST = 2**63


def to_json(value: Any) -> Any:
    """Dataclasses, tuples and dicts as JSON's own kinds."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no word for it, and other programs stop at Python's
    return value


def from_json(kind: type[T], data: Any, place: str = "") -> T:
    """The dataclass that ``to_json`` wrote; ValueError, with the place in it, where something else stands there.

    Keys that this version doesn't know are left out.
    """
    if not isinstance(data, dict):
        raise _unlike(place, "an object", data)
    plain = typing.get_origin(kind) or kind
    hints = typing.get_type_hints(plain)
    stands_for = dict(zip(getattr(plain, "__parameters__", ()), typing.get_args(kind), strict=False))
    values = {}
    for each in dataclasses.fields(plain):  # type: ignore[arg-type]
        inside = f"{place}.{each.name}" if place else each.name
        if each.name in data:
            values[each.name] = _restore(stands_for.get(hints[each.name], hints[each.name]), data[each.name], inside)
        elif each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING:
            raise ValueError(f"{inside}: it is missing")
    return plain(**values)


def _restore(hint: Any, item: Any, place: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return item
    if origin in (Union, types.UnionType):  # of one kind and None
        return None if item is None else _restore(arguments[0], item, place)
    if origin is Literal:
        if item not in arguments:
            raise _unlike(place, f"one of {', '.join(map(str, arguments))}", item)
        return item
    if origin in (tuple, list):
        if not isinstance(item, list):
            raise _unlike(place, "a list", item)
        return origin(_restore(arguments[0], each, f"{place}.{number}") for number, each in enumerate(item))
    if origin is dict:
        if not isinstance(item, dict):
            raise _unlike(place, "an object", item)
        return {key: _restore(arguments[1], each, f"{place}.{key}") for key, each in item.items()}
    if dataclasses.is_dataclass(origin or hint):
        return from_json(hint, item, place)
    if hint is float and item is None:
        return math.nan
    allowed = (int, float) if hint is float else (hint,)
    if type(item) not in allowed or (type(item) is int and abs(item) >= _LARGEST):
        raise _unlike(place, _KINDS[hint], item)
    return item


def _unlike(place: str, wanted: str, item: Any) -> ValueError:
    found = "a whole number of many digits" if type(item) is int and abs(item) >= _LARGEST else f"{item!r:.40}"
    return ValueError(f"{place or 'the whole'}: expected {wanted}, found {found}")
