"""What a language model adds to the rows of a file: how well it foretells each, or what it answers."""

from __future__ import annotations

from typing import Any

from pippin.tasks.base import Answer, Prediction


class LossColumn:
    """The mean loss of a row's learnt tokens."""

    names = keys = ["loss"]
    needs_scores = False

    def cells(self, answer: Answer | None) -> list[str]:
        return [f"{value:.6f}" for value in self.values(answer)] if answer is not None else [""]

    def values(self, answer: Answer | None) -> list[Any]:
        return [answer.value if isinstance(answer, Prediction) else None]


class TextColumn:
    """The answer to a row's prompt."""

    names = keys = ["answer"]
    needs_scores = False

    def cells(self, answer: Any) -> list[str]:
        return [answer or ""]

    values = cells
