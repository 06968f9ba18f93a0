"""Labels: which words are the same class, and which columns of labels are mistakes."""

from __future__ import annotations

import json

import pytest
from data_helpers import changed, lines, load, refusal, text, write

from pippin.tasks.sequence.labels import label_number, label_word, look_alikes

HEADER = "text,label"


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (" yes ", "yes"),
        (1, "1"),
        (1.0, "1"),
        ("1.00", "1"),
        (-1.0, "-1"),
        (0.5, "0.5"),
        (10**20, "1" + "0" * 20),
        (float("inf"), "inf"),
        (float("nan"), None),
        (True, "true"),
        ("FALSE", "false"),
        ("Truly", "Truly"),
        ("", None),
        ("\u00a0", None),
        (None, None),
    ],
)
def test_label_word(value, word):
    assert label_word(value) == word


@pytest.mark.parametrize(("value", "number"), [("2.5", 2.5), (" 3 ", 3.0), ("1,5", None), ("inf", None), (None, None)])
def test_label_number(value, number):
    assert label_number(value) == number


def test_look_alikes():
    names = ("Yes", "yes", "no", "caf\u00e9", "cafe\u0301", "b", "b\u200b", "two words", "two\u00a0words")
    assert [set(group) for group, _ in look_alikes(names)] == [
        {"Yes", "yes"},
        {"caf\u00e9", "cafe\u0301"},
        {"b", "b\u200b"},
        {"two words", "two\u00a0words"},
    ]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (("1", "01", "+1", "2"), "the classes '1', '01' and '+1' are the same number"),
        (("1", "1e0", "2"), "the classes '1' and '1e0' are the same number"),
        (("-0", "0", "1"), "the classes '-0' and '0' are the same number"),
        (("1", "\uff11", "2"), "the classes '1' and '\uff11' differ only in case, in invisible characters or in how"),
        (("cat", "c\u0430t", "dog"), "'cat' and 'c\u0430t' look alike, but for CYRILLIC SMALL LETTER A"),
        (
            ("OK", "\u039f\u039a", "no"),
            "'OK' and '\u039f\u039a' look alike, but for GREEK CAPITAL LETTER OMICRON, GREEK",
        ),
    ],
)
def test_classes_that_only_a_program_tells_apart_are_warned_of(labels, words):
    data = load(data=write("train.csv", HEADER, lines(90, labels)))
    assert [warning for warning in data.warnings if words in warning], data.warnings
    assert len(data.labels.names) == len(labels), "they may be meant"


@pytest.mark.parametrize(
    "labels",
    [("\u0432\u043e\u0434\u0430", "\u0441\u043e\u043a"), ("1", "10", "100"), ("a", "b", "0a"), ("inf", "nan_1"),
     ("v1", "v01"), ("9" * 400, "9" * 401)],
)  # fmt: skip
def test_classes_that_people_tell_apart(labels):
    assert not look_alikes(labels)
    assert len(load(data=write("train.csv", HEADER, lines(90, labels))).labels.names) == len(labels)


def test_classes_that_differ_in_case_are_warned_of():
    data = load(data=write("train.csv", HEADER, lines(60, ("Good", "good", "bad"))))
    assert data.labels.names == ("Good", "bad", "good")
    assert any("'Good' and 'good' differ only in case" in warning for warning in data.warnings)


@pytest.mark.parametrize("mark", ["nan", "None", "N/A", "?"])
def test_class_that_may_be_a_missing_label_is_warned_of(mark):
    rows = changed(lines(60), 9, f"some words,{mark}")
    data = load(data=write("train.csv", HEADER, rows))
    assert any(f"the class {mark!r} (1 rows) may stand for a missing label" in warning for warning in data.warnings)


def test_classes_of_one_row_are_warned_of_and_stay_in_training():
    rows = changed(changed(lines(60), 9, "rare words,rare"), 12, "odd words,odd")
    data = load(data=write("train.csv", HEADER, rows))
    assert any("2 of 4 classes have only one training row: odd, rare" in warning for warning in data.warnings)
    assert {"rare words", "odd words"} <= set(data.train.texts)


def test_good_labels_give_no_warning():
    assert load(data=write("train.csv", HEADER, lines(60))).warnings == []


@pytest.mark.parametrize("labels", [("0.5", "1.0", "2.5"), ("0,5", "1,0", "2,5"), ("3", "4.5")])
def test_fractions_as_classes(labels):
    rows = [line.replace(",", ";", 1) for line in lines(60, labels)]
    refusal(
        "train.csv, column 'label' holds numbers such as",
        "--do_regression",
        data=write("train.csv", "text;label", rows),
    )


def test_regression_with_a_word_in_the_column():
    rows = [f"{text(number)};{number / 10}" for number in range(60)]
    path = write("train.csv", "text;label", changed(changed(rows, 7, "words;good"), 9, "words;3,5"))
    message = refusal(
        "train.csv, row 7 (line 8): column 'label' holds 'good', not a number", data=path, do_regression=True
    )
    assert "row 9 (line 10): column 'label' holds '3,5', not a number: write a point" in message
    assert len(load(data=path, do_regression=True, skip_bad_rows=True, validation_split=0).train) == 58


def test_regression_on_a_constant():
    path = write("train.csv", HEADER, lines(60, ("3.0",)))
    refusal("train.csv, column 'label': every row has the number 3", data=path, do_regression=True)


def test_too_many_classes():
    words = write("train.csv", HEADER, lines(100, tuple(f"class {number}" for number in range(60))))
    refusal("train.csv, column 'label' has 60 different labels in 100 rows", "--label_column", data=words)
    assert len(load(data=words, label_column="label").labels.names) == 60, "named by flag, they are believed"
    numbers = write("train.csv", HEADER, lines(100, tuple(map(str, range(60)))))
    refusal("60 different labels", "--do_regression", data=numbers)


def test_a_class_for_every_row():
    path = write("train.csv", HEADER, lines(100, tuple(f"class {number}" for number in range(100))))
    refusal("has 100 different labels in 100 rows", data=path, label_column="label")


def test_many_classes_with_many_rows_are_fine():
    path = write("train.csv", HEADER, lines(3000, tuple(f"intent {number}" for number in range(1000))))
    assert len(load(data=path).labels.names) == 1000


def test_numbers_are_ordered_as_numbers():
    data = load(data=write("train.csv", HEADER, lines(60, ("10", "9", "2"))))
    assert data.labels.names == ("2", "9", "10")


def test_max_train_samples_that_leave_out_a_class():
    rows = [*lines(20), *lines(20, ("so so",), start=20)]
    refusal(
        "the label 'so so' of the validation rows is not in the training rows",
        "--max_train_samples may have left some out",
        train_file=write("train.csv", HEADER, rows),
        validation_file=write("valid.csv", HEADER, lines(3, ("so so",), start=100)),
        max_train_samples=20,
        first_rows=True,
    )


def test_fewer_rows_are_drawn_at_random_from_a_sorted_file():
    file = write("train.csv", HEADER, [*lines(50, ("a",)), *lines(50, ("b",), start=50)])
    few = load(data=file, max_train_samples=20, validation_split=0)
    assert 4 < few.train.labels.sum() < 16
    assert [few.train.texts[place] for place in (0, -1)] == [text(few.train.rows[place] - 1) for place in (0, -1)]
    assert few.train.rows == load(data=file, max_train_samples=20, validation_split=0).train.rows
    assert few.train.rows != load(data=file, max_train_samples=20, validation_split=0, seed=1).train.rows
    assert "20 of 100 training rows are used, drawn at random" in few.notes[0]
    for first in (
        load(data=file, max_train_samples=60, validation_split=0, first_rows=True),
        load(data=file, max_train_samples=60, do_train=True),
    ):
        assert list(first.train.rows) == list(range(1, 61))


def test_test_file_without_labels_with_some_and_with_all():
    train = write("train.csv", HEADER, lines(60))
    bare = write("test.csv", "text", [text(number) for number in range(100, 110)])
    assert load(data=train, test_file=bare).test["test"].labels is None
    blank = write("test.csv", HEADER, [f"{text(number)}," for number in range(100, 110)])
    assert load(data=train, test_file=blank).test["test"].labels is None
    full = write("test.csv", HEADER, lines(10, start=100))
    assert load(data=train, test_file=full).test["test"].labels.tolist() == [1, 0] * 5
    partly = write("test.csv", HEADER, changed(lines(10, start=100), 4, "words,"))
    refusal("test.csv, row 4 (line 5): column 'label' is empty", data=train, test_file=partly)
    other = write("test.csv", HEADER, changed(lines(10, start=100), 4, "words,maybe"))
    refusal("test.csv, row 4 (line 5), column 'label': the label 'maybe' of the test rows", data=train, test_file=other)


def test_minus_one_in_a_test_file_is_a_label_where_training_has_it():
    train = write("train.csv", HEADER, lines(60, ("1", "-1")))
    test = write("test.csv", HEADER, lines(10, ("-1",), start=100))
    assert load(data=train, test_file=test).test["test"].labels.tolist() == [0] * 10


def test_labelled_test_file_that_is_a_copy_of_training_is_warned_of():
    train = write("train.csv", HEADER, lines(60))
    data = load(data=train, test_file=write("test.csv", HEADER, lines(60)))
    assert "60 of 60 test texts are in the training rows too: the score means nothing." in data.warnings


def test_classes_of_a_trained_model_renumber_every_split():
    from pippin.models.labels import Labels

    train = write("train.jsonl", [json.dumps({"text": text(n), "label": "abc"[n % 3]}) for n in range(60)])
    test = write("test.csv", HEADER, lines(3, ("c", "a", "b"), start=100))
    data = load(data=train, test_file=test, validation_split=0)
    renumbered = data.with_classes(Labels(("c", "b", "a")))
    assert data.train.labels[:3].tolist() == [0, 1, 2]
    assert renumbered.train.labels[:3].tolist() == [2, 1, 0]
    assert renumbered.test["test"].labels.tolist() == [0, 2, 1]


def test_many_different_numbers_are_said_to_be_classes():
    prices = write("rows.csv", [HEADER, *(f"{text(number)},{number % 25 * 40}" for number in range(100))])
    assert any(
        "25 different numbers, taken as classes: to predict numbers" in each for each in load(data=prices).warnings
    )
    numbered = write("own.csv", [HEADER, *(f"{text(number)},{number % 25}" for number in range(100))])
    assert not any("different numbers" in each for each in load(data=numbered).warnings)
