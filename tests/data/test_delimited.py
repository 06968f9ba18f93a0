"""CSV and TSV as people and programs write them: read exactly, or refused with the line."""

from __future__ import annotations

import pandas
import pytest
from data_helpers import WORDS, changed, lines, load, refusal, text, write

from pippin.data.delimited import open_delimited

ROWS = lines(40)
TAB_ROWS = lines(40, separator="\t")
TEXTS = [text(number) for number in range(40)]


def texts(**settings) -> list[str]:
    return load(**settings, validation_split=0).train.texts


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "old mac"])
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_line_ends(end, suffix):
    separator = "," if suffix == "csv" else "\t"
    rows = lines(40, separator=separator)
    data = load(data=write(f"train.{suffix}", f"text{separator}label", rows, end=end), validation_split=0)
    assert data.train.texts == TEXTS
    assert data.labels.names == ("neg", "pos")


def test_blank_lines_are_no_rows_but_count_as_lines():
    blanks = ["", *ROWS[:20], "", "  ", *ROWS[20:], "", ""]
    assert texts(data=write("train.csv", "text,label", blanks)) == TEXTS
    broken = changed(blanks, 30, ",pos")
    refusal("row 27 (line 31): column 'text' is empty", data=write("train.csv", "text,label", broken))


def test_blank_line_in_a_file_of_one_column_is_an_empty_text():
    """Left out, it would shift the predictions of all rows below it."""
    test = write("test.csv", "text", TEXTS[:5], "", TEXTS[5:], "", "")
    refusal("test.csv, row 6 (line 7): column 'text' is empty", data=write("a.csv", "text,label", ROWS), test_file=test)


def test_cells_in_quotes_hold_separators_quotes_and_line_ends():
    rows = changed(changed(ROWS, 2, '"one, two, ""three""",pos'), 5, '"first line\nsecond, line\r\n\nlast",neg')
    rows = changed(rows, 8, '"Well, yes\nthank you",pos')
    found = texts(data=write("train.csv", "text,label", rows))
    assert found[1] == 'one, two, "three"'
    assert found[4] == "first line\nsecond, line\r\n\nlast"
    assert found[7] == "Well, yes\nthank you"
    assert len(found) == 40


def test_rows_below_a_text_of_several_lines_are_named_by_their_line():
    rows = changed(changed(ROWS, 5, '"first\nsecond\nthird",neg'), 9, ",pos")
    refusal("row 9 (line 12)", data=write("train.csv", "text,label", rows))


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ('"an opened quote,pos', None),
        ('"an opened quote,pos', '"a proper, cell",neg'),
        ('"an opened quote,pos', 'he said "well" and left,neg'),
        ('"an opened quote,pos', 'a closing quote",neg'),
        ('"properly" opened,pos', None),
    ],
)
@pytest.mark.parametrize("row", [1, 17, 39])
def test_stray_quote_never_swallows_rows(opening, closing, row):
    rows = changed(ROWS, row, opening)
    if closing:
        rows = changed(rows, row + 1, closing)
    refusal(f"train.csv, line {row + 1}: a double quote", data=write("train.csv", "text,label", rows))


def test_stray_quote_that_swallows_many_rows_with_the_label_first():
    rows = [f"{'pos' if number % 2 else 'neg'},{text(number)}" for number in range(40)]
    rows = changed(changed(rows, 10, 'pos,"open'), 14, 'neg,shut"')
    message = refusal("train.csv, line 11: a double quote opens a text that runs to line 15", data=write_csv(rows))
    assert "save the file as .jsonl" in message


def test_stray_quote_in_the_label_column():
    rows = [f"{'pos' if number % 2 else 'neg'},{text(number)}" for number in range(40)]
    rows = changed(changed(rows, 10, '"pos,open'), 11, 'neg",shut')
    refusal("train.csv, row 10 (line 11): column 'label' holds a line break", "double quote", data=write_csv(rows))


@pytest.mark.parametrize("last", [22, 29])
def test_stray_quotes_that_swallow_most_of_a_file(last):
    rows = lines(30, ("a", "b", "c"))
    rows = changed(changed(rows, 2, f'"{rows[1]}'), last, 'and so on",c')
    refusal("train.csv, line 3: a double quote", data=write("train.csv", "text,label", rows))


def write_csv(rows: list[str]) -> str:
    return write("train.csv", "label,text", rows)


def test_quotes_inside_a_csv_text_are_text():
    rows = changed(ROWS, 3, 'he said "well" and 5" left,pos')
    assert texts(data=write("train.csv", "text,label", rows))[2] == 'he said "well" and 5" left'


def test_bare_quotes_in_a_tsv_are_text():
    stray = ['"an opened quote', 'a closed one"', '"both" of them', '"all of it"', 'in "the" middle', '"']
    rows = [f"{words}\tpos" for words in stray] + TAB_ROWS
    assert texts(data=write("train.tsv", "text\tlabel", rows)) == stray + TEXTS


def test_bare_quotes_in_a_tsv_that_would_pair_over_rows():
    rows = changed(changed(TAB_ROWS, 5, '"an opened quote\tpos'), 9, 'a closed one"\tneg')
    found = texts(data=write("train.tsv", "text\tlabel", rows))
    assert len(found) == 40
    assert (found[4], found[8]) == ('"an opened quote', 'a closed one"')
    noted = (
        [f"{line}\tfine" for line in rows[:8]] + ['words\tneg\tthe last cell"'] + [f"{line}\tfine" for line in rows[9:]]
    )
    assert len(texts(data=write("train.tsv", "text\tlabel\tnote", noted))) == 40


@pytest.mark.parametrize("quoting", [0, 1, 2], ids=["minimal", "all", "nonnumeric"])
def test_tsv_as_pandas_writes_it(quoting):
    hard = ["a tab\there", 'a "quoted" word', '"', "two\nlines", "plain, comma", *TEXTS]
    frame = pandas.DataFrame({"text": hard, "label": [number % 2 for number in range(len(hard))]})
    frame.to_csv("train.tsv", sep="\t", index=False, quoting=quoting)
    assert texts(data="train.tsv") == hard


def test_csv_as_pandas_writes_it_with_its_index():
    frame = pandas.DataFrame({"words": TEXTS, "verdict": ["good", "bad"] * 20})
    frame.to_csv("train.csv")
    data = load(data="train.csv", validation_split=0)
    assert data.columns.text == ("words",)
    assert data.columns.label == "verdict"
    assert data.train.texts == TEXTS


def test_tabs_in_a_csv_and_commas_in_a_tsv_are_found_and_said():
    data = load(data=write("train.csv", "text\tlabel", TAB_ROWS), validation_split=0)
    assert data.train.texts == TEXTS
    assert data.notes == ["train.csv: fields are separated by tabs."]
    data = load(data=write("train.tsv", "text,label", ROWS), validation_split=0)
    assert data.train.texts == TEXTS
    assert data.notes == ["train.tsv: fields are separated by commas."]


def test_separators_in_a_quoted_header_do_not_count():
    rows = [f"{line};x" for line in lines(40, separator=";")]
    data = load(data=write("train.csv", '"text, as, it, is";label;z', rows), validation_split=0)
    assert data.columns.label == "label"


def test_tab_separated_txt_is_read_and_other_txt_refused():
    assert texts(data=write("ratings_train.txt", "document\tlabel", TAB_ROWS)) == TEXTS
    refusal("notes.txt: which part of a line is the label?", data=write("notes.txt", "text,label", ROWS))


def test_utf_16():
    path = write("train.csv", "text,label", changed(ROWS, 1, "größe,pos"), encoding="utf-16")
    refusal("train.csv is UTF-16 text. Add --encoding utf-16", data=path)
    assert texts(data=path, encoding="utf-16")[0] == "größe"
    path = write("train.csv", "text,label", ROWS, encoding="utf-16-le")
    refusal("train.csv looks like UTF-16", "--encoding utf-16-le", data=path)
    assert texts(data=path, encoding="utf-16-le") == TEXTS


def test_wrong_encoding_flag():
    path = write("train.csv", "text,label", changed(ROWS, 4, "日本,pos"))
    refusal("--encoding utf-9: there is no such encoding", data=path, encoding="utf-9")
    refusal("train.csv, line 5: byte 0xE6 is not ascii", "Leave --encoding out", data=path, encoding="ascii")


def test_name_that_stands_twice():
    rows = [f"{line},x" for line in ROWS]
    refusal(
        "train.csv: the first line has the column name text twice",
        "Rename one",
        data=write("train.csv", "text,label,text", rows),
    )


def test_column_names_in_the_middle():
    """Two files that were joined with their headers would give a class called `label`."""
    joined = [*ROWS[:20], "text,label", *ROWS[20:]]
    refusal(
        "train.csv, row 21 (line 22) repeats the first line, text, label. If",
        "take this one out",
        data=write("train.csv", "text,label", joined),
    )


@pytest.mark.parametrize("labels", [("pos", "neg"), ("1", "0")])
def test_missing_header(labels):
    refusal(
        f"train.csv, line 1: {labels[0]!r} looks like data",
        "Add a first line that names the columns",
        data=write("train.csv", lines(40, labels)),
    )


def test_file_without_suffix_archive_and_folder(tmp_path):
    refusal("rows: Pippin does not read files without a suffix", ".csv, .tsv", data=write("rows", "text,label", ROWS))
    for name in ("rows.tar.gz", "rows.parquet.gz", "rows.zip"):
        kind = name.removeprefix("rows")
        refusal(f"{name}: Pippin does not read {kind}", "(.csv.gz)", data=write(name, "x"))
    refusal("rows.xls: Pippin does not read .xls. Use", data=write("rows.xls", "x"))
    (tmp_path / "folder").mkdir()
    refusal("folder is a folder; name a file in it", train_file="folder")
    refusal("folder: no training file", "found nothing", data="folder")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x1f\x8b\x08\x00", "a gzip archive"),
        (b"PK\x03\x04", "an Excel workbook"),
        (b"PAR1\x00", "a Parquet file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
    ],
)
def test_content_that_belies_its_suffix(tmp_path, content, what):
    (tmp_path / "train.csv").write_bytes(content)
    refusal("train.csv is ", what, data="train.csv")


def test_very_wide_file():
    wide = [
        f"{line}," + ",".join(str(number * column % 7) for column in range(3000)) for number, line in enumerate(ROWS)
    ]
    header = "words,verdict," + ",".join(f"f{column}" for column in range(3000))
    path = write("train.csv", header, wide)
    message = refusal("which column is the label?", "and 2990 more", "--label_column", data=path)
    assert len(message) < 1000, "three thousand names are no message"
    assert texts(data=path, label_column="verdict", text_column="words") == TEXTS


def test_line_of_every_row_in_a_long_file():
    body = [
        f'"{word}\n{word}",{number}' if number % 3 else f"{word},{number}" for number, word in enumerate(WORDS * 50)
    ]
    rows = "\n".join(["text,label", *body])
    table = open_delimited(lambda: iter([rows]), "x.csv", ".csv").whole()
    expected, line = [], 2
    for number in range(len(body)):
        expected.append(line)
        line += 2 if number % 3 else 1
    assert list(table.lines) == expected
