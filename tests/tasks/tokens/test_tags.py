"""Ways to write tags, and the entities in them, beside seqeval's."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest
from seqeval.metrics import classification_report, f1_score, precision_score, recall_score

from pippin.models.labels import Labels
from pippin.tasks.tokens.metrics import Scored, by_kind, score
from pippin.tasks.tokens.tags import as_bio, broken, entities, scheme_of
from pippin.tasks.tokens.task import TokensTask

SCHEMES = {
    "BIO": ["B-PER I-PER O B-LOC B-LOC", "O O B-ORG I-ORG I-ORG"],
    "IOB1": ["I-PER I-PER O I-LOC B-LOC", "O O I-ORG I-ORG I-ORG"],
    "IOBES": ["B-PER E-PER O S-LOC S-LOC", "O O B-ORG I-ORG E-ORG"],
    "BILOU": ["B-PER L-PER O U-LOC U-LOC", "O O B-ORG I-ORG L-ORG"],
}


@pytest.mark.parametrize("name", SCHEMES)
def test_schemes_are_told_apart_and_mean_the_same(name):
    sentences = [each.split() for each in SCHEMES[name]]
    scheme = scheme_of(sentences, {tag for tags in sentences for tag in tags})
    assert scheme == {"BILOU": "IOBES"}.get(name, name)
    assert [as_bio(tags) for tags in sentences] == [each.split() for each in SCHEMES["BIO"]]
    assert [[*broken(tags, scheme)] for tags in sentences] == [[], []]


def test_plain_tags():
    sentences = [["DET", "NOUN"], ["X-Y", "O"]]
    assert scheme_of(sentences, {tag for tags in sentences for tag in tags}) == "plain"


@pytest.mark.parametrize(
    ("scheme", "tags", "found"),
    [
        ("BIO", "O I-PER B-PER I-LOC", [(1, "I-PER follows O"), (3, "I-LOC follows B-PER")]),
        ("BIO", "I-PER", [(0, "I-PER follows nothing")]),
        ("IOB1", "B-PER I-PER", [(0, "B-PER follows nothing")]),
        ("IOBES", "B-PER O I-PER E-PER", [(1, "O follows B-PER, which goes on"), (2, "I-PER follows O")]),
        ("IOBES", "S-PER B-PER", [(1, "B-PER is the last, and goes on")]),
    ],
)
def test_broken_sequences_are_named(scheme, tags, found):
    assert [*broken(tags.split(), scheme)] == found


@pytest.mark.parametrize("letters", ["BI", "BIES"])
def test_figures_are_those_of_seqeval(letters):
    """On tags drawn at random, most of which follow each other as they should not."""
    tags = ["O", *(f"{letter}-{kind}" for letter in letters for kind in ("PER", "LOC", "B-cell"))]
    draw = random.Random(0)
    truth = [draw.choices(tags, [6, *[1] * (len(tags) - 1)], k=draw.randint(1, 12)) for _ in range(300)]
    found = [[tag if draw.random() < 0.7 else draw.choice(tags) for tag in row] for row in truth]
    task = TokensTask(labels=Labels(tuple(tags)))
    numbers = {tag: number for number, tag in enumerate(tags)}
    flat = [np.array([numbers[tag] for row in rows for tag in row]) for rows in (found, truth)]
    rows = np.repeat(np.arange(300), [len(row) for row in truth])
    scored = Scored(*flat, rows, rows, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = {"precision": precision_score, "recall": recall_score, "f1": f1_score}
        for name, of in wanted.items():
            assert score(task, scored)[name] == pytest.approx(of(truth, found), abs=1e-12)
        report = classification_report(truth, found, output_dict=True)
    figures, counts = by_kind(task, scored).figures(), by_kind(task, scored).of_truth
    for place, kind in enumerate(task.kinds):
        assert counts[place] == report[kind]["support"]
        assert figures["f1"][place] == pytest.approx(report[kind]["f1-score"])
    assert sum(counts) == sum(len(entities(row)) for row in truth)
