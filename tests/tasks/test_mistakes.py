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
        (12, 3.0, 9.0, 6.0),
        (11, 2.0, 2.5, 0.5),
    ]


def test_few_rows_and_short_texts():
    many = worst_mistakes(examples(100, "x" * 1000), judged([[2.0, 0.0]] * 100, [1] * 100))
    assert len(many) == 20
    assert {len(text) for _, text, *_ in many} == {300}


def test_classes_without_rows_have_no_figures_and_are_named():
    scorer = judged([[3.0, 0.0], [3.0, 0.0]], [0, 0])
    part = scorer.parts(examples(2), Columns(("text",), "label", "by flag"), "test")[0]
    assert part.table.rows == (("no", 1.0, 1.0, 1.0, 2), ("yes", None, None, None, 0))
    assert part.table.caption.startswith(
        'No test rows of "yes", so it has no figures. f1_macro leaves such a class out'
    )
    assert scorer.metrics()["f1_macro"] == 1.0


def test_numbers_are_drawn_as_points_of_which_there_are_never_many():
    few = judged([[1.0], [2.5]], [1.5, 2.0], regression=True)
    scatter = few.parts(examples(2), Columns(("text",), "label", ""), "test")[0].scatter
    assert (scatter.actual, scatter.predicted, scatter.caption) == ((1.5, 2.0), (1.0, 2.5), "")
    truth = [float(place) for place in range(3000)]
    many = [judged([[each + 1] for each in truth], truth, regression=True) for _ in range(2)]
    points = [each.parts(examples(3000), Columns(("text",), "label", ""), "test")[0].scatter for each in many]
    assert points[0] == points[1]
    assert len(points[0].actual) == len(points[0].predicted) == 1000
    assert all(y - x == 1 for x, y in zip(points[0].actual, points[0].predicted, strict=True))
    assert points[0].caption == "1000 of 3000 rows, drawn at random."
