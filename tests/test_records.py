"""Plain data there and back; whatever else stands in a file is refused by its place."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import pytest

from pippin.records import from_json, to_json

T = TypeVar("T")


@dataclass(frozen=True)
class Part(Generic[T]):
    value: T
    why: str


@dataclass(frozen=True)
class Way:
    layout: Literal["packed", "padded"]


@dataclass(frozen=True)
class Whole:
    word: str
    count: int
    share: float
    sure: bool
    part: Part[int]
    kind: Literal["a", "b"] = "a"
    maybe: int | None = None
    words: tuple[str, ...] = ()
    table: list[list[int]] = field(default_factory=list)
    parts: dict[str, Part[str]] = field(default_factory=dict)
    open: dict[str, Any] = field(default_factory=dict)


WHOLE = Whole(
    "w", 3, 0.5, True, Part(7, "so"), "b", 4, ("x", "y"), [[1, 2], [3]], {"p": Part("v", "z")}, {"any": [1, "two"]}
)


def test_there_and_back():
    assert from_json(Whole, json.loads(json.dumps(to_json(WHOLE)))) == WHOLE
    least = {"word": "w", "count": 3, "share": 1, "sure": False, "part": {"value": 1, "why": ""}, "later": "unknown"}
    assert from_json(Whole, least) == Whole("w", 3, 1, False, Part(1, ""))


def test_numbers_that_json_has_no_word_for():
    there = to_json(dataclasses.replace(WHOLE, share=math.inf))
    assert there["share"] is None
    assert math.isnan(from_json(Whole, there).share)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"word": 3}, "word"),
        ({"word": None}, "word"),
        ({"word": ["<b>"]}, "word"),
        ({"count": "3"}, "count"),
        ({"count": 3.5}, "count"),
        ({"count": True}, "count"),
        ({"count": 2**70}, "count"),
        ({"count": None}, "count"),
        ({"share": "0.5"}, "share"),
        ({"share": True}, "share"),
        ({"share": 10**400}, "share"),
        ({"sure": 1}, "sure"),
        ({"part": 3}, "part"),
        ({"part": []}, "part"),
        ({"part": {"value": "7", "why": "so"}}, "part.value"),
        ({"part": {"value": 7}}, "part.why"),
        ({"kind": 3}, "kind"),
        ({"maybe": "4"}, "maybe"),
        ({"words": "xy"}, "words"),
        ({"words": ["x", 3]}, "words.1"),
        ({"words": {"x": 1}}, "words"),
        ({"table": [[1], ["<script>"]]}, "table.1.0"),
        ({"parts": ["p"]}, "parts"),
        ({"parts": {"p": {"value": {}, "why": ""}}}, "parts.p.value"),
        ({"open": []}, "open"),
    ],
)
def test_wrong_kinds_are_refused_by_their_place(change, place):
    with pytest.raises(ValueError) as caught:
        from_json(Whole, {**to_json(WHOLE), **change})
    assert str(caught.value).startswith(f"{place}: ")


@pytest.mark.parametrize("data", [None, 3, "x", [], [1], {}, {"word": "w"}])
def test_what_is_no_record_at_all(data):
    with pytest.raises(ValueError):
        from_json(Whole, data)


def test_one_of_a_few_words_is_one_of_them():
    assert from_json(Way, {"layout": "packed"}) == Way("packed")
    with pytest.raises(ValueError, match="layout: expected one of packed, padded, found 'loose'"):
        from_json(Way, {"layout": "loose"})
