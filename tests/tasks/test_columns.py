"""Which columns are the text and the label: found, said, or asked for; never guessed wrongly in silence."""

from __future__ import annotations

from typing import Any

import pytest
from data_helpers import refusal, text, write

from pippin.data.tables import Table
from pippin.errors import PippinError
from pippin.recipe.reading import recipe_from
from pippin.tasks.sequence.columns import Columns, find_columns
from pippin.tasks.sequence.known import OWN_CLASSES

COUNT = 40
PROSE = [text(number) for number in range(COUNT)]
MORE_PROSE = [f"{text(number)} and so on and on" for number in range(COUNT)]
TWO = ["yes", "no"] * (COUNT // 2)
FOUR = ["north", "east", "south", "west"] * (COUNT // 4)
NUMBERS = [number * 37 for number in range(COUNT)]
CODES = [f"{number:040x}" for number in range(10**9, 10**9 + COUNT)]
DATES = [f"2020-{number % 12 + 1:02d}-11 10:0{number % 10}" for number in range(COUNT)]


def find(settings: dict[str, Any] | None = None, **columns: list) -> Columns:
    named = {name.replace("__", " "): values for name, values in columns.items()}
    return find_columns(Table(named, "rows.csv"), recipe_from(settings or {}).recipe, OWN_CLASSES)


@pytest.mark.parametrize(
    ("columns", "text_column", "label"),
    [
        ({"text": PROSE, "label": TWO}, ("text",), "label"),
        ({"Review": PROSE, "Sentiment": TWO}, ("Review",), "Sentiment"),
        ({"label": TWO, "category": FOUR, "text": PROSE}, ("text",), "label"),
        ({"id": NUMBERS, "document": PROSE, "label": TWO}, ("document",), "label"),
        ({"title": PROSE, "text": MORE_PROSE, "class": TWO}, ("text",), "class"),
        ({"premise": PROSE, "hypothesis": MORE_PROSE, "label": TWO}, ("premise", "hypothesis"), "label"),
        ({"#1__String": PROSE, "#2__String": MORE_PROSE, "Quality": TWO}, ("#1 String", "#2 String"), "Quality"),
        ({"question": PROSE, "answer": MORE_PROSE, "label": TWO}, ("question",), "label"),
    ],
)
def test_by_name(columns, text_column, label):
    found = find(**columns)
    assert (found.text, found.label) == (text_column, label)
    assert "by its name" in found.reason


@pytest.mark.parametrize(
    "extra",
    [
        {"id": NUMBERS},
        {"id": [str(number) for number in NUMBERS]},
        {"user_id": CODES},
        {"hash": CODES},
        {"when": DATES},
        {"size": [number / 7 for number in NUMBERS]},
        {"note": [None] * COUNT},
    ],
    ids=lambda extra: next(iter(extra)),
)
def test_by_content(extra):
    found = find(**extra, words=PROSE, verdict=TWO)
    assert (found.text, found.label) == (("words",), "verdict")
    assert "few different values" in found.reason
    assert f"not used: {next(iter(extra))}" in found.reason


def test_text_of_single_words_is_found_when_nothing_else_has_letters():
    assert find(name=[f"Name{number}" for number in range(COUNT)], verdict=TWO).text == ("name",)


def test_text_in_a_script_without_spaces():
    korean = [f"재미있는영화{number}" for number in range(COUNT)]
    assert find(hash=CODES, words=korean, verdict=TWO).text == ("words",)


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        (
            {"text": PROSE, "a": TWO, "b": FOUR},
            ["which column is the label? It could be any of a, b", "--label_column"],
        ),
        ({"text": PROSE, "sentiment": TWO, "topic": FOUR}, ["It could be any of sentiment, topic", "--label_column"]),
        ({"text": PROSE, "other": MORE_PROSE}, ["no column is named label or looks like one", "text, other"]),
        ({"a": CODES, "b": CODES[::-1], "label": TWO}, ["which column is the text? It could be any of a, b"]),
        ({"x": NUMBERS, "label": TWO}, ["which column is the text? none of x, label looks like one", "--text_column"]),
        ({"text": NUMBERS, "label": TWO}, ["column 'text' holds only numbers (such as 0)", "`--text_column text`"]),
    ],
)
def test_asked_for_where_it_is_not_clear(columns, parts):
    with pytest.raises(PippinError) as caught:
        find(**columns)
    for part in ["rows.csv", *parts]:
        assert part in str(caught.value)


def test_flags_decide():
    settings = {"text_column": "b,a", "label_column": "d"}
    found = find(settings, a=PROSE, b=MORE_PROSE, c=TWO, d=FOUR, label=TWO)
    assert (found.text, found.label) == (("b", "a"), "d")
    assert found.reason == "text from 'b' and 'a' (named by flag), label from 'd' (named by flag); not used: c, label"


def test_flag_that_names_no_column():
    path = write("rows.csv", "sentence,verdict", [f"{words},{label}" for words, label in zip(PROSE, TWO, strict=True)])
    refusal(
        "rows.csv has no column 'sentense' (--text_column); it has sentence, verdict. Did you mean sentence?",
        data=path,
        text_column="sentense",
    )
    refusal("no column 'verdikt' (--label_column)", "Did you mean verdict?", data=path, label_column="verdikt")


@pytest.mark.parametrize(
    "settings",
    [
        {"text_column": "label"},
        {"text_column": "text", "label_column": "text"},
        {"text_column": "text,text"},
        {"text_column": "text,label", "label_column": "label"},
    ],
)
def test_column_cannot_serve_twice(settings):
    """A label that is in the text would be learnt perfectly, and be worth nothing."""
    with pytest.raises(PippinError, match=r"cannot serve twice|which column is the label"):
        find(settings, text=PROSE, label=TWO)


def test_validation_with_other_column_names():
    train = write("train.csv", "text,label", [f"{w},{label}" for w, label in zip(PROSE, TWO, strict=True)])
    valid = write("valid.csv", "sentence,label", ["other words,yes"])
    refusal(
        "valid.csv has no column 'text', which holds the text in training; it has sentence, label",
        "Name its columns as in training",
        train_file=train,
        validation_file=valid,
    )
