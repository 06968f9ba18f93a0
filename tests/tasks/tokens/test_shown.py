"""What a report shows of tags: the sentences that are furthest off, and how many there are of each kind."""

from __future__ import annotations

import numpy as np

from pippin.data.examples import WordExamples, join_words
from pippin.models.labels import Labels
from pippin.tasks.base import Columns
from pippin.tasks.parts import TablePart
from pippin.tasks.tokens.encoding import EncodedWords
from pippin.tasks.tokens.task import TokensTask

ENTITIES = TokensTask(labels=Labels(("B-LOC", "B-PER", "I-PER", "O")))
PLAIN = TokensTask(labels=Labels(("NOUN", "VERB")))


def encoded(sentences: list[list[str]], tags: list[list[int]]) -> EncodedWords:
    """Every word is one token."""
    labels = np.empty(len(tags), object)
    labels[:] = [np.array(each) for each in tags]
    lengths = list(map(len, sentences))
    total = sum(lengths)
    texts = [join_words(each) for each in sentences]
    return EncodedWords(
        np.zeros(total, np.int32), None, np.cumsum([0, *lengths]), np.concatenate(labels),
        examples=WordExamples(texts, None, labels, list(range(1, 1 + len(tags))), "x"),
        words=np.concatenate([np.arange(each) for each in lengths]), characters=np.zeros((total, 2), np.int32),
        counts=np.ones(total, bool), sources=np.arange(len(sentences)),
    )  # fmt: skip


def tables(
    task: TokensTask, sentences: list[list[str]], truth: list[list[int]], found: list[list[int]]
) -> list[TablePart]:
    rows = encoded(sentences, truth)
    scorer = task.scorer(rows)
    logits = 5 * np.eye(len(task.labels.names), dtype=np.float32)
    for place, each in enumerate(found):
        scorer.add(np.array([place]), logits[each])
    parts = scorer.parts(rows.examples, Columns(("words",), "tags", ""), "test")
    return [part.table for part in parts if part.table]


def test_entities_are_marked_from_their_first_word_to_their_last():
    sentences = [["Ada", "Byron", "saw", "Rome"], ["no", "mistake"]]
    kinds, mistakes = tables(ENTITIES, sentences, [[1, 2, 3, 0], [3, 3]], [[1, 3, 3, 0], [3, 3]])
    ((row, actual, predicted, _),) = mistakes.rows
    assert row == 1
    assert actual == ("Ada Byron saw Rome", ((0, 9, "PER"), (14, 18, "LOC")))
    assert predicted == ("Ada Byron saw Rome", ((0, 3, "PER"), (14, 18, "LOC")))
    assert [each[0] for each in kinds.rows] == ["PER", "LOC"], "the worst first"


def test_of_a_long_sentence_the_worst_stretch_is_shown():
    words = [f"w{place}" for place in range(400)]
    truth = [3] * 400
    truth[299:302] = [3, 1, 2]
    found = [3] * 400
    _, mistakes = tables(ENTITIES, [words], [truth], [found])
    ((_, (text, marks), (other, none), _),) = mistakes.rows
    assert text == other, "both show the same words"
    assert none == ()
    assert text.startswith("… w")
    assert text.endswith(" …")
    assert len(text.split()) == 122
    ((start, end, label),) = marks
    assert (text[start:end], label) == ("w300 w301", "PER")
    assert 40 < text.split().index("w300") < 80, "with words before and after it"
    truth[230:350] = [1, *[2] * 119]
    _, mistakes = tables(ENTITIES, [words], [truth], [found])
    ((_, (text, ((start, end, _),)), _, _),) = mistakes.rows
    assert text[start:end] == " ".join(words[230:350]), "what goes beyond it is marked up to its end"


def test_plain_tags_mark_every_word():
    tags, mistakes = tables(PLAIN, [["dogs", "run"]], [[0, 1]], [[0, 0]])
    ((_, actual, predicted, _),) = mistakes.rows
    assert actual == ("dogs run", ((0, 4, "NOUN"), (5, 8, "VERB")))
    assert predicted == ("dogs run", ((0, 4, "NOUN"), (5, 8, "NOUN")))
    assert (tags.what, tags.heads[0], tags.heads[-1]) == ("tags", "tag", "words")


def test_what_is_counted_is_named():
    rows = encoded([["Ada", "Byron", "saw", "Rome"]], [[1, 2, 3, 0]])
    (entities,) = ENTITIES.data_parts(rows.examples, rows)
    assert (entities.bars.what, entities.bars.counted) == ("kinds", "entities")
    assert dict(zip(entities.bars.names, entities.bars.counts, strict=True)) == {"LOC": 1, "PER": 1}
    rows = encoded([["dogs", "run", "fast"]], [[0, 1, 0]])
    (words,) = PLAIN.data_parts(rows.examples, rows)
    assert (words.bars.what, words.bars.counted, words.bars.counts) == ("tags", "words", (2, 1))
