"""Plain data to JSON and back: each of the five nouns is a frozen dataclass that these two functions carry."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from typing import Any, TypeVar, Union

T = TypeVar("T")


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


def from_json(kind: type[T], data: dict[str, Any]) -> T:
    """The dataclass that ``to_json`` wrote. Keys that this version doesn't know are left out."""
    plain = typing.get_origin(kind) or kind
    hints = typing.get_type_hints(plain)
    stands_for = dict(zip(getattr(plain, "__parameters__", ()), typing.get_args(kind), strict=False))
    known = {f.name for f in dataclasses.fields(plain)}  # type: ignore[arg-type]
    return plain(
        **{
            name: _restore(stands_for.get(hints[name], hints[name]), item)
            for name, item in data.items()
            if name in known
        }
    )


def _restore(hint: Any, item: Any) -> Any:
    if item is None:
        return None
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        wanted = [argument for argument in arguments if argument is not type(None)]
        return _restore(wanted[0], item) if len(wanted) == 1 else item
    if origin is tuple:
        return tuple(_restore(arguments[0], each) for each in item)
    if origin is dict:
        return {key: _restore(arguments[1], each) for key, each in item.items()}
    return from_json(hint, item) if dataclasses.is_dataclass(origin or hint) else item
