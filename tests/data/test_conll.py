"""CoNLL files in the forms that people have them in."""

from __future__ import annotations

from pathlib import Path

import pytest

from pippin.data.tables import open_table, read_table
from pippin.errors import PippinError

BIO = "EU\tB-ORG\nrejects\tO\n\nPeter\tB-PER\nBlackburn\tI-PER\n"
SENTENCES = [["EU", "rejects"], ["Peter", "Blackburn"]]
TAGS = [["B-ORG", "O"], ["B-PER", "I-PER"]]


def table(text: str, name: str = "train.conll", header=None):
    Path(name).write_text(text, encoding="utf-8")
    return read_table(Path(name), header=header)


@pytest.mark.parametrize(
    "text",
    [
        BIO,
        BIO.replace("\t", " "),
        BIO.replace("\t", "   "),
        BIO.replace("\n", "\r\n"),
        BIO.replace("\n\n", "\n\t\n"),
        BIO.replace("\n\n", "\n\n\n \n"),
        "-DOCSTART-\tO\n\n" + BIO,
        "# sentence 1\n# text = EU rejects\n" + BIO,
        "\ufeff" + BIO,
        BIO.replace("\n\n", "\n\u200b\n"),
        BIO.rstrip("\n"),
    ],
    ids=["tabs", "spaces", "columns", "windows", "lone tab", "many", "docstart", "comments", "mark", "no width", "end"],
)
@pytest.mark.parametrize("name", ["train.conll", "train.bio", "train.txt", "train.tsv"])
def test_words_and_tags(text, name):
    found = table(text, name)
    assert found.columns == {"tokens": SENTENCES, "tags": TAGS}


def test_prefixes_are_left_out_and_said():
    found = table(BIO.replace("EU", "en:EU").replace("rejects", "en:rejects").replace("Peter", "en:Peter")
                  .replace("Blackburn", "en:Blackburn"))  # fmt: skip
    assert found.columns["tokens"] == SENTENCES
    assert "'en:' before each word is left out" in found.notes[0]


def test_the_columns_of_2003_have_their_names():
    text = "EU NNP I-NP B-ORG\nrejects VBZ I-VP O\n\nPeter NNP I-NP B-PER\nBlackburn NNP I-NP I-PER\n"
    found = table(text, "eng.train.txt")
    assert list(found.columns) == ["tokens", "pos_tags", "chunk_tags", "ner_tags"]
    assert found.columns["ner_tags"] == TAGS
    assert "the columns tokens, pos_tags, chunk_tags, ner_tags" in found.notes[0]


def test_names_by_flag():
    found = table(BIO.replace("\tB-ORG", "\tX\tB-ORG").replace("\tO", "\tX\tO").replace("\tB-PER", "\tX\tB-PER")
                  .replace("\tI-PER", "\tX\tI-PER"), header=("tokens", "noun", "name"))  # fmt: skip
    assert list(found.columns) == ["tokens", "noun", "name"]
    with pytest.raises(PippinError, match="has 2 columns, and --column_names 3: tokens, a, b"):
        table(BIO, header=("tokens", "a", "b"))
    with pytest.raises(PippinError, match="call the column of the words 'tokens'"):
        table(BIO, header=("a", "b"))


def test_universal_dependencies_leave_out_what_is_no_word():
    rows = [
        "1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_",
        "1\tde\tde\tADP\t_\t_\t3\tcase\t_\t_",
        "2\tle\tle\tDET\t_\t_\t3\tdet\t_\t_",
    ]
    found = table("# text = du\n" + "\n".join(rows) + "\n", "fr.conllu")
    assert found.columns["tokens"] == [["de", "le"]]
    assert found.columns["upos"] == [["ADP", "DET"]]


def test_hashtags_are_words():
    assert table("#pippin\tB-X\nis\tO\n\n# a\n#\tO\nb\tB-X\n").columns["tokens"] == [["#pippin", "is"], ["#", "b"]]


def test_each_word_knows_its_line():
    words = table("# one\nEU\tB-ORG\nrejects\tO\n\n# two\nPeter\tB-PER\n").columns["tokens"]
    assert [list(each.lines) for each in words] == [[2, 3], [6]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BIO.replace("rejects\tO", "rejects"), r"train.conll, line 2 has 1 column, and the others have 2: 'rejects'"),
        (BIO.replace("rejects\tO", "rejects\t"), r"train.conll, line 2: the column 'tags' is empty"),
        (BIO.replace("rejects\tO", "re\tjects\tO"), r"train.conll, line 2 has 3 columns, and the others have 2"),
        ("\n\n", "empty"),
    ],
)
def test_what_is_wrong_is_named_by_its_line(text, said):
    with pytest.raises(PippinError, match=said):
        table(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("reviews.tsv", "text\tlabel\nA film\tgood\nNo film\tbad\n\n"),
        ("reviews.txt", "A film\nNo film\n\nAnother one\n"),
        ("questions.tsv", "question\tanswer\nO\tA\nO\tB\n"),
    ],
)
def test_other_texts_are_not_taken_for_it(name, text):
    Path(name).write_text(text)
    assert not open_table(Path(name), lines_are_texts=True).is_conll
