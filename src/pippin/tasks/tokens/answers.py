"""What answers of a tagger add to the rows of a file: the spans of a text, or a tag for each of its words."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pippin.tasks.base import Answer, Prediction


class SpanColumns:
    """Each span as from-to, label and text; its probability beside it."""

    names = ["spans", "scores"]
    keys = ["spans"]
    needs_scores = False

    def cells(self, answer: Answer | None) -> list[str]:
        spans = _prediction(answer).spans or ()
        words = (f"{span.start}-{span.end} {span.label} {span.text}" for span in spans)
        return ["|".join(words), "|".join(f"{span.score:.6f}" for span in spans)]

    def values(self, answer: Answer | None) -> list[Any]:
        return [None if answer is None else [asdict(span) for span in _prediction(answer).spans or ()]]


class TagColumns:
    """A tag for each word."""

    names = keys = ["tags"]
    needs_scores = False

    def cells(self, answer: Answer | None) -> list[str]:
        return [" ".join(_prediction(answer).tags or ())]

    def values(self, answer: Answer | None) -> list[Any]:
        return [None if answer is None else list(_prediction(answer).tags or ())]


def _prediction(answer: Answer | None) -> Prediction:
    return answer if isinstance(answer, Prediction) else Prediction()
