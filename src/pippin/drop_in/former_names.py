"""Settings under names that transformers dropped: taken where a script gives them, and invisible where it does not.

They are no fields of the class, so that dicts, parsers and signatures are those of transformers. A class that declares
such a name itself keeps it for itself.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import Field, field, make_dataclass
from typing import Any

from pippin.drop_in.fields import REMOVED
from pippin.drop_in.translation import HANDED_OVER, MISSING, plain, read_unasked

_FIELDS = "__dataclass_fields__"
_GIVEN = "_former_names"


def _help(name: str) -> str:
    treatment = REMOVED[name].treatment
    refused = f" Refused {treatment.when}." if treatment.when else ""
    return f"Gone since transformers {REMOVED[name].gone}. {treatment.words}{refused}".replace("%", "%%")


def fields_of(names: tuple[str, ...], for_parser: bool = False) -> dict[str, Field[Any]]:
    """Former names as fields of a dataclass.

    What was handed over to a field of today is no argument of a copy: there, that field counts.
    """

    def made(name: str) -> tuple[str, Any, Any]:
        init = for_parser or name not in HANDED_OVER
        former = field(default=REMOVED[name].default, init=init, metadata={"help": _help(name)})
        return name, REMOVED[name].kind, former

    return dict(getattr(make_dataclass("FormerNames", map(made, names)), _FIELDS))


class _InitSignature:
    """The signature of a class is that of its __init__, though it has a __new__."""

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        found = inspect.signature(owner.__init__)  # type: ignore[misc]
        return found.replace(parameters=list(found.parameters.values())[1:])


class TakesFormerNames:
    """Lets former names into a dataclass, and into every dataclass that a script derives from it."""

    __signature__ = _InitSignature()

    def __new__(cls, *arguments: Any, **named: Any) -> Any:
        # Only now has @dataclass written the __init__ of a script's own class.
        for kind in cls.__mro__:
            init = vars(kind).get("__init__")
            if issubclass(kind, TakesFormerNames) and _FIELDS in vars(kind) and init and not _is_open(init):
                kind.__init__ = _taking_former_names(init)  # type: ignore[method-assign]
        return super().__new__(cls)

    def __getattr__(self, name: str) -> Any:
        if name in MISSING:
            return read_unasked(self, name)
        return object.__getattribute__(self, name)  # raises what was raised before

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != _FIELDS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        _show(self)

    def to_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = super().to_dict()  # type: ignore[misc]
        for name in given_names(self):
            shown[name] = f"<{name.upper()}>" if name.endswith("_token") else plain(getattr(self, name))
        return shown


def given_names(args: Any) -> tuple[str, ...]:
    return vars(args).get(_GIVEN, ())


def own_names(kind: type) -> tuple[str, ...]:
    """The former names that a class declares as fields of its own."""
    return tuple(name for name in MISSING if name in getattr(kind, _FIELDS))


def _is_open(init: Callable[..., None]) -> bool:
    """Whether an __init__ takes any name already."""
    kinds = {parameter.kind for parameter in inspect.signature(init).parameters.values()}
    return hasattr(init, "__wrapped__") or inspect.Parameter.VAR_KEYWORD in kinds


def _taking_former_names(init: Callable[..., None]) -> Callable[..., None]:
    own = inspect.signature(init).parameters

    @functools.wraps(init)
    def call(self: Any, *arguments: Any, **named: Any) -> None:
        former = {name: named.pop(name) for name in [*named] if name in MISSING and name not in own}
        if former:
            vars(self).update(former)
            vars(self)[_GIVEN] = tuple(former)
            _show(self)
        init(self, *arguments, **named)

    return call


def _show(args: Any) -> None:
    """Let `fields` and what is built on it see the names that were given."""
    if names := given_names(args):
        vars(args)[_FIELDS] = {**getattr(type(args), _FIELDS), **fields_of(names)}


def taken_by(kind: Any, names: Mapping[str, Any] | set[str]) -> tuple[str, ...]:
    """Which of these names a class takes as former ones."""
    if not (isinstance(kind, type) and issubclass(kind, TakesFormerNames)):
        return ()
    return tuple(name for name in MISSING if name in names and name not in own_names(kind))
