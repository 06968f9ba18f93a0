"""What the report shows of texts: an example with its learnt tokens marked, and the rows that are foretold worst."""

from __future__ import annotations

import numpy as np

from pippin.data.examples import Examples
from pippin.tasks.language.encoding import ChatExamples, EncodedText
from pippin.tasks.parts import Bars, Marked, Part, TablePart

#: Rows that are shown, and characters of each, and of the example.
_MOST_ROWS, _LONGEST, _LONGEST_EXAMPLE = 20, 600, 4000


def example_part(encoded: EncodedText) -> tuple[Part, ...]:
    """The first training row, with what is learnt of it in colour."""
    if encoded.example is None:
        return ()
    text, marks = encoded.example
    shown = Marked(text[:_LONGEST_EXAMPLE], tuple(mark for mark in marks if mark[0] < _LONGEST_EXAMPLE))
    table = TablePart(("row", "as the model reads it"), ((encoded.rows[0], shown),), ("d", "marked"))
    return (Part("An example: what is learnt is marked", table),)


def learnt_part(encoded: EncodedText) -> Part:
    """How much of the rows is learnt."""
    assert encoded.labels is not None
    learnt = encoded.learnt
    counts = (learnt, len(encoded.tokens) - learnt)
    return Part("Tokens of the training rows", bars=Bars(("learnt", "read alone"), counts, "tokens", "Tokens"))


def worst_part(
    encoded: EncodedText, losses: np.ndarray, counts: np.ndarray, examples: Examples, split: str
) -> tuple[Part, ...]:
    """The rows that surprise the model most, by the mean loss of their tokens."""
    order = np.argsort(-losses, kind="stable")[:_MOST_ROWS]
    rows = tuple(
        (
            encoded.rows[row],
            _text_of(examples, int(encoded.sources[row])),
            int(counts[row]),
            round(float(losses[row]), 4),
        )
        for row in order
    )
    heads, formats = ("row", "Text", "learnt tokens", "loss"), ("d", "long", "d", ".2f")
    title = f"Furthest from what the model expects, on the {split} rows"
    return (Part(title, TablePart(heads, rows, formats)),) if rows else ()


def _text_of(examples: Examples, place: int) -> str:
    if not isinstance(examples, ChatExamples):
        return examples.texts[place][:_LONGEST]
    messages = examples.chat(place).messages
    return "\n".join(f"{message['role']}: {message['content']}" for message in messages)[:_LONGEST]
