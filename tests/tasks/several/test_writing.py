"""How a file writes several labels a row is found by itself, and a class whose name has a comma stays one class."""

from __future__ import annotations

import pytest

from pippin.data.tables import Table
from pippin.errors import PippinError
from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.base import Columns
from pippin.tasks.sequence.several.writing import Unreadable, Writing, find_writing, is_flags

COLUMNS = Columns(("text",), "label", "")


def found(cells: list, known: Labels | None = None, **settings) -> Writing | None:
    return find_writing(Table({"label": cells}, "rows"), COLUMNS, Recipe(**settings), known)


SEVERAL = {
    "lists": ([["a", "b"], ["a"], []], ("lists", "")),
    "tuples": ([("a",), ("b",)], ("lists", "")),
    "written lists": (["['a', 'b']", "[]", '["a"]'], ("lists", "")),
    "bars": (["a|c|d", "a", "c|d", "d", "a|c"], ("delimited", "|")),
    "semicolons": (["a;c", "a", "c; d", "d", "a;d", ""], ("delimited", ";")),
    "commas": (["a, c", "a", "c, d", "d", "a, d", "c"], ("delimited", ",")),
    "numbers": (["3,27", "27", "1,2,3", "3", "1", "2,27", "2", "1"], ("delimited", ",")),
}
ONE = {
    "words": ["yes", "no", "yes", "no"],
    "classes with commas": ["Arts, Music", "Food, Drink", "Arts, Music", "Food, Drink", "Sport"],
    "decimal commas": ["3,5", "4,0", "3,0", "4,5", "3,5", "4,0"],
    "numbers": [1, 2, 1, 2],
    "sentences": [f"this one, row {row}" for row in range(20)],
}


@pytest.mark.parametrize(("cells", "expected"), SEVERAL.values(), ids=SEVERAL)
def test_several_are_found(cells, expected):
    writing = found(cells)
    assert writing is not None
    assert (writing.form, writing.delimiter) == expected
    assert found(cells, several_labels="off") is None


@pytest.mark.parametrize("cells", ONE.values(), ids=ONE)
def test_one_is_left_alone(cells):
    assert found(cells) is None


def test_on_takes_the_delimiter_that_is_there():
    assert found(["a;b", "c"]) is None
    writing = found(["a;b", "c"], several_labels="on")
    assert writing is not None
    assert writing.delimiter == ";"


def test_a_models_labels_say_what_a_delimiter_is():
    known = Labels(("a, b", "c"), several=True)
    writing = found(["a, b;c", "c"], known)
    assert writing is not None
    assert writing.delimiter == ";"
    assert found(["a|b", "a", "b"], Labels(("a", "b"))) is None, "one class a row"


@pytest.mark.parametrize(
    ("writing", "cells", "labels"),
    [
        (Writing("delimited", ("label",), "|"), ["a| c |a|"], ("a", "c")),
        (Writing("delimited", ("label",), "|"), [3], ("3",)),
        (Writing("delimited", ("label",), "|"), [""], ()),
        (Writing("delimited", ("label",), "|"), [None], None),
        (Writing("lists", ("label",)), [["b", "a", "b"]], ("b", "a")),
        (Writing("lists", ("label",)), [[]], ()),
        (Writing("lists", ("label",)), [None], None),
        (Writing("lists", ("label",)), ["['a']"], ("a",)),
        (Writing("lists", ("label",)), ["a"], ("a",)),
        (Writing("flags", ("x", "y")), ["1", 0], ("x",)),
        (Writing("flags", ("x", "y")), [True, "TRUE"], ("x", "y")),
        (Writing("flags", ("x", "y")), [None, ""], None),
    ],
)
def test_the_labels_of_a_row(writing, cells, labels):
    assert writing.labels(cells) == labels


@pytest.mark.parametrize(
    ("writing", "cells", "problem"),
    [
        (Writing("lists", ("label",)), [["a", None]], "empty label"),
        (Writing("lists", ("label",)), [["a", ["b"]]], "no label"),
        (Writing("lists", ("label",)), ["[a"], "which is no list"),
        (Writing("lists", ("label",)), ["[" * 300 + "]" * 300], "no l"),
        (Writing("lists", ("label",)), [[7]], "names 2 labels"),
        (Writing("flags", ("x",)), ["2"], "0 or 1 is wanted"),
        (Writing("flags", ("x", "y")), ["1", ""], "column 'y' is empty"),
        (Writing("delimited", ("label",), "|"), ["a|b\x00"], "NUL"),
    ],
)
def test_what_is_no_label_is_named(writing, cells, problem):
    if problem == "which is no list":
        assert writing.labels(cells) == ("[a",), "what does not end as a list is a label"
        return
    with pytest.raises(Unreadable, match=problem):
        writing.labels(cells, ("one", "two"))


def test_numbers_stand_for_the_names_that_the_file_has():
    assert Writing("lists", ("label",)).labels([[1, 0]], ("joy", "anger")) == ("anger", "joy")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["0", "1"], True),
        ([True, False], True),
        ([0, 1.0], True),
        (["0"], False),
        (["0", "1", "2"], False),
        (["0", "false"], False),
        (["0", "1", None], False),
    ],
)
def test_flags(cells, expected):
    assert is_flags(cells) is expected


def test_flags_and_off_contradict_each_other():
    table = Table({"x": ["0", "1"], "y": ["1", "0"]}, "rows")
    with pytest.raises(PippinError, match="x, y are several labels a row"):
        find_writing(table, Columns(("text",), "x, y", "", flags=("x", "y")), Recipe(several_labels="off"), None)
