"""What the report shows of tags: each kind of entity or tag, and the sentences that are furthest off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pippin.data.collate import NO_LABEL
from pippin.data.examples import WordExamples
from pippin.tasks.parts import Marked, Part, TablePart
from pippin.tasks.tokens.encoding import EncodedWords
from pippin.tasks.tokens.entities import Counts, Kinds
from pippin.tasks.tokens.metrics import Scored, by_kind, by_tag
from pippin.tasks.tokens.tags import OUTSIDE, Entity, entities

if TYPE_CHECKING:
    from pippin.tasks.tokens.task import TokensTask

_MOST_SENTENCES = 20
#: Words of a sentence that are shown.
_LONGEST_SENTENCE = 120


def kinds_part(task: TokensTask, scored: Scored, split: str) -> Part:
    """How well each kind of entity is found, the worst first."""
    caption = "An entity counts as found when its kind and all of its words are right."
    heads, names = ("entity", "entities"), Kinds.of(task.labels.names).names
    table = _figures(names, by_kind(task, scored), heads, "kinds", caption)
    return Part(f"By kind of entity, on the {split} rows", table, in_brief=True)


def tags_part(task: TokensTask, scored: Scored, split: str) -> Part:
    """How well each tag is found, the worst first."""
    table = _figures(task.labels.names, by_tag(task, scored), ("tag", "words"), "tags")
    return Part(f"By tag, on the {split} rows", table, in_brief=True)


def worst_part(
    task: TokensTask, scored: Scored, losses: np.ndarray, examples: WordExamples, split: str
) -> tuple[Part, ...]:
    """Sentences with a wrong tag, those first of which the model was surest."""
    wrong = np.where(scored.predictions != scored.truth, losses[scored.tokens], 0.0)
    of_row = np.bincount(scored.rows, wrong, minlength=len(examples))
    chosen = [row for row in np.argsort(-of_row, kind="stable")[:_MOST_SENTENCES].tolist() if of_row[row] > 0]
    rows = []
    for row in chosen:
        own = np.flatnonzero(scored.rows == row)
        words, places = examples.words(row), scored.words[own]
        seen = _stretch(np.bincount(places, wrong[own], minlength=len(words)))
        shown = (_marked(task, words, seen, places, tags[own]) for tags in (scored.truth, scored.predictions))
        rows.append((examples.rows[row], *shown, round(float(of_row[row]), 4)))
    heads, formats = ("row", "actual", "predicted", "loss"), ("d", "marked", "marked", ".2f")
    title = f"Most confident mistakes, on the {split} rows"
    return (Part(title, TablePart(heads, tuple(rows), formats, "sentences")),) if rows else ()


def numbers_by_kind(task: TokensTask, encoded: EncodedWords) -> tuple[tuple[str, ...], np.ndarray]:
    """How many entities of each kind, or words of each tag, there are."""
    assert encoded.labels is not None
    has_tag = encoded.labels != NO_LABEL
    tags = encoded.labels[has_tag]
    if not task.marks_entities:
        return task.labels.names, np.bincount(tags, minlength=len(task.labels.names))
    kinds = Kinds.of(task.labels.names)
    rows = np.repeat(np.arange(len(encoded)), encoded.lengths)[has_tag]
    return kinds.names, np.bincount(kinds.find(tags, rows).kind, minlength=len(kinds.names))


def _figures(names: tuple[str, ...], counts: Counts, ends: tuple[str, str], what: str, caption: str = "") -> TablePart:
    """``ends`` are the heads of the first and the last column."""
    figures = counts.figures()
    rows = [
        (
            name,
            *(float(values[place]) if counts.of_truth[place] else None for values in figures.values()),
            int(counts.of_truth[place]),
        )
        for place, name in enumerate(names)
    ]
    rows.sort(key=lambda row: (row[3] is None, row[3]))
    heads = (ends[0], "precision", "recall", "F1", ends[1])
    return TablePart(heads, tuple(rows), ("", ".3f", ".3f", ".3f", "d"), what, caption)


def _stretch(wrong: np.ndarray) -> range:
    """The words of a sentence that are shown: all, or so many with the worst mistakes in the middle."""
    if len(wrong) <= _LONGEST_SENTENCE:
        return range(len(wrong))
    sums = np.convolve(wrong, np.ones(_LONGEST_SENTENCE), "valid")
    best = np.flatnonzero(sums >= sums.max() * (1 - 1e-9))
    start = int(best[len(best) // 2])
    return range(start, start + _LONGEST_SENTENCE)


def _marked(task: TokensTask, words: list[str], seen: range, places: np.ndarray, tags: np.ndarray) -> Marked:
    """What is seen of a sentence, with its tags: whole entities, or every word's tag.

    ``places`` are the words that have one.
    """
    named = dict(zip(places.tolist(), (task.labels.names[tag] for tag in tags), strict=True))
    if task.marks_entities:
        found = entities([named.get(place, OUTSIDE) for place in range(len(words))])
    else:
        found = [Entity(tag, place, place) for place, tag in named.items()]
    before, after = "… " * (seen.start > 0), " …" * (seen.stop < len(words))
    shown = words[seen.start : seen.stop]
    starts = np.cumsum([len(before), *(len(word) + 1 for word in shown)]).tolist()
    marks = []
    for each in found:
        first, last = max(each.first - seen.start, 0), min(each.last - seen.start, len(shown) - 1)
        if first <= last:
            marks.append((starts[first], starts[last] + len(shown[last]), each.kind))
    return Marked(before + " ".join(shown) + after, tuple(marks))
