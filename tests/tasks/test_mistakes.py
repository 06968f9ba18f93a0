"""Which rows a report shows first."""

from __future__ import annotations

from typing import Any

import numpy as np

from pippin.data.encoding import Encoded
from pippin.data.examples import Examples
from pippin.models.labels import Labels
from pippin.tasks.base import Columns
from pippin.tasks.sequence.scorer import SequenceScorer
from pippin.tasks.sequence.task import SequenceTask


def judged(logits: list[list[float]], truth: list[float], regression: bool = False) -> SequenceScorer:
    labels = Labels((), regression=True) if regression else Labels(("no", "yes"))
    encoded = Encoded(np.zeros(len(truth)), None, np.arange(len(truth) + 1), np.array(truth))
    scorer = SequenceTask(regression=regression, labels=labels).scorer(encoded)
    scorer.add(np.arange(len(truth)), np.array(logits, np.float32))
    return scorer


def examples(count: int, text: str = "text") -> Examples:
    return Examples([f"{text} {place}" for place in range(count)], None, None, list(range(10, 10 + count)), "rows.csv")


def worst_mistakes(texts: Examples, scorer: SequenceScorer) -> tuple[tuple[Any, ...], ...]:
    """Row, text, truth, answer and score of each."""
    *_, part = scorer.parts(texts, Columns(("text",), "label", "by flag"), "test")
    assert part.title.endswith("on the test rows")
    return part.table.rows


def test_the_most_confident_wrong_answers_come_first():
    logits = [[3.0, 0.0], [0.0, 1.0], [0.0, 4.0], [2.0, 0.0]]
    found = worst_mistakes(examples(4), judged(logits, [0, 0, 0, 1]))
    assert [each[:4] for each in found] == [
        (12, "text 2", "no", "yes"),
        (13, "text 3", "yes", "no"),
        (11, "text 1", "no", "yes"),
    ]
    assert found[0][4] == 0.982


def test_for_numbers_those_that_are_furthest_off():
    found = worst_mistakes(examples(3), judged([[1.0], [2.5], [9.0]], [1.0, 2.0, 3.0], regression=True))
    assert [(row, *others) for row, _, *others in found] == [
        (12, "3", "9.0000", 6.0),
        (11, "2", "2.5000", 0.5),
    ]


def test_few_rows_and_short_texts():
    many = worst_mistakes(examples(100, "x" * 1000), judged([[2.0, 0.0]] * 100, [1] * 100))
    assert len(many) == 20
    assert {len(text) for _, text, *_ in many} == {300}
