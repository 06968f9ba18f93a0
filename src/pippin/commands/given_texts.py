"""Texts that a caller hands over to be labelled: checked one by one, with their place named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import zip_longest
from typing import Any

from pippin.errors import PippinError, shown


def rows_of(texts: Any, pairs: Any, name: str) -> Iterator[tuple[str, ...]]:
    """The texts of each row, one or two; what cannot be labelled is refused when its turn comes."""
    _check_many(texts, name)
    if pairs is None:
        return _rows(texts, name)
    _check_many(pairs, "pairs")
    if isinstance(texts, Sized) and isinstance(pairs, Sized) and len(texts) != len(pairs):
        raise PippinError(f"{len(texts)} texts but {len(pairs)} pairs: give the second text of each, in order.")
    return _paired(_checked(texts, name), _checked(pairs, "pairs"))


def count_texts(columns: tuple[str, ...]) -> str:
    """What a model reads, for a message.

    >>> count_texts(("premise", "hypothesis"))
    '2 texts a row (premise, hypothesis)'
    """
    return f"{len(columns)} text{'s' * (len(columns) > 1)} a row ({', '.join(columns)})"


def text_problem(text: Any) -> str | None:
    """What keeps a text from being labelled, if anything."""
    if not isinstance(text, str):
        return f"is {text!r:.40}, not a text"
    if not text.strip():
        return "is empty"
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"holds half of a character ({text!r:.40})"
    return None


def _check_many(texts: Any, name: str) -> None:
    if hasattr(texts, "columns") or isinstance(texts, Mapping):
        raise PippinError(f"{name} is a table; give its column of texts, such as df['text'].")
    if isinstance(texts, bytes) or not isinstance(texts, Iterable):
        raise PippinError(f"{name} is {shown(texts)}: give a text, or a list of texts.")


def _rows(texts: Iterable[Any], name: str) -> Iterator[tuple[str, ...]]:
    size = 0
    for place, given in enumerate(texts):
        row = tuple(given) if isinstance(given, (tuple, list)) or getattr(given, "shape", None) else (given,)
        if not size:
            size = len(row)
        if len(row) != size or not row:
            raise PippinError(f"{name}[{place}] is {shown(given)}: give one text for each row, or as many in each.")
        yield tuple(_text(text, _place(name, place, given)) for text in row)


def _checked(texts: Iterable[Any], name: str) -> Iterator[str]:
    return (_text(text, _place(name, place, text)) for place, text in enumerate(texts))


def _place(name: str, place: int, given: Any) -> str:
    return "the text" if name == "text" else f"{name}[{place}]{' (a pair)' if isinstance(given, (tuple, list)) else ''}"


def _text(text: Any, place: str) -> str:
    problem = text_problem(text)
    if problem:
        raise PippinError(f"{place} {problem}: every text must be a string with something in it.")
    return str(text)


def _paired(firsts: Iterable[str], seconds: Iterable[str]) -> Iterator[tuple[str, ...]]:
    for place, pair in enumerate(zip_longest(firsts, seconds)):
        if None in pair:
            which = "pairs end" if pair[1] is None else "texts end"
            raise PippinError(f"the {which} after {place}: give the second text of each, in order.")
        yield pair
