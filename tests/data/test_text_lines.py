"""Files of lines: tables with tabs, labels before or behind the text, fastText's, and texts alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from data_helpers import changed, lines, load, refusal, text, write

from pippin.data.tables import open_table

COUNT = 40
TEXTS = [text(number) for number in range(COUNT)]
LABELS = ["pos", "neg"] * (COUNT // 2)
BEHIND = lines(COUNT, separator="\t")
BEFORE = [f"{label}\t{words}" for words, label in zip(TEXTS, LABELS, strict=True)]
MARKED = [f"__label__{label} {words}" for words, label in zip(TEXTS, LABELS, strict=True)]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (BEHIND, "each line is read as TEXT, a tab, LABEL."),
        (BEFORE, "each line is read as LABEL, a tab, TEXT."),
        (MARKED, "each line is read as __label__LABEL TEXT."),
    ],
    ids=["behind", "before", "fastText"],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "old mac"])
def test_lines_with_a_label(rows, said, end):
    data = load(data=write("train.txt", rows[:7], "", rows[7:], end=end), validation_split=0)
    assert data.train.texts == TEXTS
    assert data.labels.names == ("neg", "pos")
    assert data.train.labels.tolist() == [1, 0] * (COUNT // 2)
    assert [note.endswith(said) for note in data.notes] == [True]
    assert (data.columns.text, data.columns.label) == (("text",), "label")


@pytest.mark.parametrize(("encoding", "words"), [("utf-8", "한국어 문장"), ("cp1256", "جملة"), ("utf-16", "中文句子")])
def test_other_languages(encoding, words):
    rows = [f"{'긍정' if encoding != 'cp1256' else 'جيد'}\t{words}", *BEFORE[1:], *BEFORE, BEFORE[0]]
    rows += [rows[0].replace("\t", "\tx ")]
    data = load(data=write("train.txt", rows, encoding=encoding), encoding=encoding, validation_split=0)
    assert data.train.texts[0] == words
    assert len(data.labels.names) == 3


def test_numbers_behind_the_text():
    rows = [f"{words}\t{number / 8}" for number, words in enumerate(TEXTS)]
    data = load(data=write("train.txt", rows), do_regression=True, validation_split=0)
    assert data.train.texts == TEXTS
    assert data.train.labels.tolist() == [number / 8 for number in range(COUNT)]


def test_names_in_the_first_line_and_quotes_below():
    rows = changed(BEHIND, 3, '"a text\nof two lines"\tpos')
    data = load(data=write("train.txt", "문장\t감정", rows), validation_split=0)
    assert data.columns.text == ("문장",)
    assert data.train.texts[2] == "a text\nof two lines"
    wide = [f"{number}\t{line}" for number, line in enumerate(BEHIND)]
    assert load(data=write("train.txt", "id\tdocument\tlabel", wide), validation_split=0).train.texts == TEXTS


def test_what_is_not_plain_is_asked_for():
    wanted = "Write each line as LABEL, a tab, TEXT, or as __label__LABEL TEXT"
    refusal("train.txt: which part of a line is the label?", wanted, data=write("train.txt", TEXTS))
    alike = [f"{words}\t{words} too" for words in TEXTS] * 2
    refusal("train.txt: which part of a line is the label?", wanted, data=write("train.txt", alike))
    three = [f"{line}\t{number % 3}" for number, line in enumerate(BEHIND)]
    refusal("train.txt: which part of a line is the label?", wanted, data=write("train.txt", three))
    refusal("train.txt: the first line names 2 columns", "row 8 (line 9) has 3",
            data=write("train.txt", changed(BEHIND, 9, "one\ttwo\tpos")))  # fmt: skip
    refusal("train.txt, line 9: expected __label__ and a label", "'so what'",
            data=write("train.txt", changed(MARKED, 9, "so what")))  # fmt: skip
    refusal("train.txt, line 9 has several labels (a, b)", "Keep one",
            data=write("train.txt", changed(MARKED, 9, "__label__a __label__b so what")))  # fmt: skip
    refusal(
        "train.txt, row 9 (line 9): column 'text' is empty", data=write("train.txt", changed(MARKED, 9, "__label__a"))
    )
    refusal("train.txt is empty", data=write("train.txt", ["", " "]))


def test_texts_alone_where_no_label_is_needed():
    path = Path(write("new.txt", TEXTS[0], "", "with\ta tab", "문장"))
    stream = open_table(path, lines_are_texts=True)
    assert (stream.rows, stream.names, stream.has_names) == (4, ("text",), False)
    assert stream.whole().columns == {"text": [TEXTS[0], "", "with\ta tab", "문장"]}
    assert stream.notes == ("new.txt: each line is read as one text.",)
    labelled = open_table(Path(write("rows.txt", MARKED)), lines_are_texts=True)
    assert labelled.names == ("label", "text")
    assert open_table(Path(write("named.txt", "document\tid", BEHIND)), lines_are_texts=True).has_names
    only = open_table(Path(write("one.txt", "one line\twith a tab")), lines_are_texts=True)
    assert only.whole().columns == {"text": ["one line\twith a tab"]}


def test_in_a_folder_and_as_a_test_file():
    write("rows/train.txt", MARKED)
    write("rows/test.txt", lines(6, start=90, separator="\t"))
    data = load(data="rows", validation_split=0)
    assert (data.train.texts, len(data.test["test"])) == (TEXTS, 6)
    write("rows/train.csv", "text,label", lines(20))
    assert len(load(data="rows", validation_split=0).train) == 20, "the .txt beside it is left alone"
    assert load(data=write("a.txt", MARKED), test_file=write("b.txt", TEXTS[:3])).test["test"].texts == TEXTS[:3]
