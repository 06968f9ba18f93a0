"""Former names as flags and in files: transformers' parser learns of those that are given, and of no others.

They come after everything that the script itself declares, in its classes or by `add_argument`: a name that is taken
already stays what the script made of it.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

from pippin.drop_in.fields import REMOVED
from pippin.drop_in.former_names import fields_of, taken_by

_TAUGHT = "takes_former_names"


class _Filled:
    """Stands in for a class while a parser fills it: the same fields, and the former names that are given."""

    def __init__(self, kind: Any, names: tuple[str, ...]):
        self.kind = kind
        self.__dataclass_fields__ = {**kind.__dataclass_fields__, **fields_of(names, for_parser=True)}

    def __call__(self, **named: Any) -> Any:
        return self.kind(**named)


def teach(parser: Any) -> None:
    """Change a class of parsers, for good. Classes that take no former names are parsed as ever."""
    if hasattr(parser, _TAUGHT):
        return
    setattr(parser, _TAUGHT, True)
    parser.parse_known_args = _knowing_flags(parser.parse_known_args)
    parser.parse_args_into_dataclasses = _filling_from_flags(parser.parse_args_into_dataclasses)
    parser.parse_dict = _filling_from_dict(parser.parse_dict)


def _knowing_flags(usual: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(usual)
    def parse_known_args(self: Any, args: Any = None, namespace: Any = None) -> Any:
        given = {word.partition("=")[0].replace("-", "_") for word in (sys.argv[1:] if args is None else args)}
        named = {name for name in REMOVED if {f"__{name}", f"__no_{name}"} & given}
        for kind in self.dataclass_types:
            for name, field in fields_of(taken_by(kind, named - _taken(self)), for_parser=True).items():
                self._parse_dataclass_field(self, field)
                for action in (action for action in self._actions if action.dest == name):
                    action.default, action.former = argparse.SUPPRESS, True  # not given, it leaves no trace
        return usual(self, args, namespace)

    return parse_known_args


def _taken(parser: Any) -> set[str]:
    """Names that the script declares, or that were added before."""
    return {action.dest for action in parser._actions} | {
        option.lstrip("-").replace("-", "_") for option in parser._option_string_actions
    }


def _filling_from_flags(usual: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(usual)
    def parse_args_into_dataclasses(self: Any, *arguments: Any, **named: Any) -> Any:
        kinds = self.dataclass_types

        def parse_known_args(args: Any = None, namespace: Any = None) -> Any:
            found, rest = type(self).parse_known_args(self, args, namespace)
            former = {action.dest for action in self._actions if hasattr(action, "former")} & set(vars(found))
            self.dataclass_types = _standing_in(kinds, former)
            return found, rest

        self.parse_known_args = parse_known_args
        try:
            return usual(self, *arguments, **named)
        finally:
            self.dataclass_types = kinds
            del self.parse_known_args

    return parse_args_into_dataclasses


def _filling_from_dict(usual: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(usual)
    def parse_dict(self: Any, args: Mapping[str, Any], *arguments: Any, **named: Any) -> Any:
        kinds = self.dataclass_types
        declared = {name for kind in kinds for name in kind.__dataclass_fields__}
        self.dataclass_types = _standing_in(kinds, set(args) - declared)
        try:
            return usual(self, args, *arguments, **named)
        finally:
            self.dataclass_types = kinds

    return parse_dict


def _standing_in(kinds: Any, given: set[str]) -> list[Any]:
    former = [(kind, taken_by(kind, given)) for kind in kinds]
    return [_Filled(kind, names) if names else kind for kind, names in former]
