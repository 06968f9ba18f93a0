"""From an answer for each token of a text to the spans in it, as transformers' pipeline makes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from pippin.tasks.base import Span
from pippin.tasks.tokens.tags import OUTSIDE, parts_of


def spans_of(text: str, tags: Sequence[str], scores: Sequence[float], characters: np.ndarray) -> tuple[Span, ...]:
    """Tokens with one kind of tag make a span, up to the next tag that begins one.

    ``characters`` has from and to of each token.
    """
    found = []
    for kind, places in _runs(tags):
        start, end = int(characters[places[0], 0]), int(characters[places[-1], 1])
        found.append(Span(kind, start, end, text[start:end], float(np.mean([scores[place] for place in places]))))
    return tuple(found)


def by_word(
    text: str, tags: list[str], scores: list[float], characters: np.ndarray, words: np.ndarray
) -> tuple[list[str], list[float], np.ndarray]:
    """Tags, scores and characters of words, each answered as its first token; ``words`` tells those.

    Punctuation stays by itself: some tokenizers take it for a part of the word before.
    """
    firsts = list[int]()
    for place, (start, end) in enumerate(characters.tolist()):
        if not firsts or words[place] >= 0 or not any(map(str.isalnum, text[start:end])):
            firsts.append(place)
    lasts = [place - 1 for place in [*firsts[1:], len(tags)]]
    ends = np.stack([characters[firsts, 0], characters[lasts, 1]], axis=1)
    return [tags[place] for place in firsts], [scores[place] for place in firsts], ends


def _runs(tags: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    """The kind of each span, and the places of its tags."""
    numbered, number, before = [], 0, ""
    for place, tag in enumerate(tags):
        letter, kind = parts_of(tag)
        number += letter in ("B", "S") or kind != before
        numbered.append((number, kind if letter != OUTSIDE else "", place))
        before = kind
    for (_, kind), group in groupby(numbered, key=lambda each: each[:2]):
        if kind:
            yield kind, [place for *_, place in group]
