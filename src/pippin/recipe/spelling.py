"""What a typed name means: another name of a field, or a slip."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher

from pippin.recipe.fields import COMMON, Field, recipe_fields
from pippin.recipe.foreign import ALIASES, SHORT_NAMES

#: Names that are less alike are no suggestion; and what being common or out of use counts.
_ALIKE, _BONUS = 0.6, 0.1


def field_name(name: str, fields: Mapping[str, Field]) -> str:
    """The field that a name is another name of; else the name itself."""
    return ALIASES[name] if name not in fields and ALIASES.get(name) in fields else name


def nearest_name(typed: str, fields: Mapping[str, Field], prefix: str = "") -> str:
    """A sentence that suggests the name most like a mistyped one, common names before rare and former ones.

    >>> nearest_name("batchsize", recipe_fields(), "--")
    ' Did you mean --batch_size?'
    """
    known = [*fields, *(name for name, field in ALIASES.items() if field in fields)]
    likeness = {name: _likeness(typed, name) for name in known}
    alike = [name for name in known if likeness[name] >= _ALIKE]
    if not alike:
        return ""
    return f" Did you mean {prefix}{max(alike, key=lambda name: likeness[name] + _bonus(name, fields))}?"


def _bonus(name: str, fields: Mapping[str, Field]) -> float:
    if name not in fields:
        return _BONUS if name in SHORT_NAMES else -_BONUS
    return _BONUS if name in COMMON or name not in recipe_fields() else 0.0


def _likeness(one: str, other: str) -> float:
    """From 0 to 1: how many letters, or how many words, two names share."""
    ours, theirs = one.split("_"), other.split("_")
    alike = [max(_ratio(word, their) for their in theirs) for word in ours]
    shared = sum(ratio for ratio in alike if ratio >= 0.75)
    return max(_ratio(one, other), 2 * shared / (len(ours) + len(theirs)))


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()
