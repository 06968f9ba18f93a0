"""Words and their tags, or plain texts, as tokens: a word's first piece carries its tag.

Rows to predict that are longer than the limit are read in windows that overlap, so that no word goes without an answer.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pippin.data.collate import NO_LABEL
from pippin.data.encoding import Encoded, portions, stand_in
from pippin.data.examples import Examples, WordExamples
from pippin.errors import PippinError

#: The share of a window that the next one reads again, so that words at its edges have others around them.
_OVERLAP = 0.25


@dataclass(frozen=True)
class EncodedWords(Encoded):
    """Also where each token stands in the row that it is from."""

    examples: Examples = field(kw_only=True)
    """What the tokens are of."""
    words: np.ndarray = field(kw_only=True)
    """For each token the word whose first piece it is, by its place in the row; -1 for all other tokens."""
    characters: np.ndarray = field(kw_only=True)
    """For each token the characters of its text (or of its word): from, to."""
    counts: np.ndarray = field(kw_only=True)
    """Whether a token's answer is used: it stands for text, and is further from the edge than in another window."""
    sources: np.ndarray = field(kw_only=True)
    """For each row of tokens the example that it is, or is a window, of."""


def encode_words(examples: Examples, tokenizer: Any, max_length: int) -> EncodedWords:
    """Tokenise words or texts. Those with labels are cut at ``max_length``, as the tokens of other tasks are."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise PippinError("tagging needs a fast tokenizer, which tells the word of each token. Choose another model.")
    tokens, types, words, lengths, sources = (array("i") for _ in range(5))
    characters, counts, cut = array("i"), array("b"), 0
    for place, windows, was_cut in _windows(examples, backend, max_length):
        cut += was_cut
        for window, counted in windows:
            ids = window.ids or [stand_in(tokenizer)]
            tokens.extend(ids)
            types.extend(window.type_ids or [0])
            words.extend(_first_pieces(window) or [-1])
            characters.extend(each for pair in window.offsets or [(0, 0)] for each in pair)
            counts.extend(counted or [False])
            lengths.append(len(ids))
            sources.append(place)
    first, where = np.array(words, np.int32), np.repeat(np.array(sources), np.array(lengths))
    labels: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    if examples.labels is not None:
        labels = _labels_of(examples, first, where)
        notes = _about_lost_words(examples, labels)
    has_types = "token_type_ids" in tokenizer.model_input_names
    return EncodedWords(
        np.array(tokens, np.int32),
        np.array(types, np.uint8) if has_types else None,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        labels,
        cut,
        pad_token=tokenizer.pad_token_id or 0,
        pad_left=tokenizer.padding_side == "left",
        origin=examples.origin,
        rows=[examples.rows[place] for place in sources],
        per_token=True,
        notes=notes,
        examples=examples,
        words=first,
        characters=np.array(characters, np.int32).reshape(-1, 2),
        counts=np.array(counts, bool),
        sources=np.array(sources),
    )


def _windows(
    examples: Examples, backend: Any, max_length: int
) -> Iterator[tuple[int, list[tuple[Any, list[bool]]], bool]]:
    """For each row its windows, each with the tokens whose answers are used, and whether the row was cut."""
    reads_all = examples.labels is None
    overlap = int(_OVERLAP * (max_length - backend.num_special_tokens_to_add(False))) if reads_all else 0
    backend.enable_truncation(max_length, stride=overlap)
    for part in portions(examples.texts):
        if isinstance(examples, WordExamples):
            words = [examples.words(place) for place in range(part.start, part.stop)]
            encodings = backend.encode_batch(words, is_pretokenized=True)
        else:
            encodings = backend.encode_batch(examples.texts[part])
        for place, encoding in enumerate(encodings, part.start):
            others = encoding.overflowing
            windows = [encoding, *others] if reads_all else [encoding]
            yield place, list(zip(windows, _counted(windows, overlap), strict=True)), bool(others) and not reads_all


def _counted(windows: list[Any], overlap: int) -> Iterator[list[bool]]:
    """Of each window the tokens that stand for text; of those that two windows have, each half counts in one."""
    for number, window in enumerate(windows):
        inside = [place for place, special in enumerate(window.special_tokens_mask) if not special]
        first = overlap // 2 if number else 0
        last = len(inside) - (overlap - overlap // 2 if number < len(windows) - 1 else 0)
        used = set(inside[first:last])
        yield [place in used for place in range(len(window.ids))]


def _first_pieces(window: Any) -> list[int]:
    words = window.word_ids
    return [-1 if word is None or word == before else word for before, word in zip([None, *words], words, strict=False)]


def _labels_of(examples: Examples, first: np.ndarray, where: np.ndarray) -> np.ndarray:
    """The tag of its word for each first piece."""
    assert examples.labels is not None
    starts = np.concatenate([[0], np.cumsum([len(tags) for tags in examples.labels])])
    labels = np.full(len(first), NO_LABEL, np.int64)
    has_word = first >= 0
    labels[has_word] = np.concatenate(list(examples.labels))[starts[where[has_word]] + first[has_word]]
    return labels


def _about_lost_words(examples: Examples, labels: np.ndarray) -> tuple[str, ...]:
    assert examples.labels is not None
    total = sum(len(tags) for tags in examples.labels)
    lost = total - int((labels != NO_LABEL).sum())
    return (
        (
            f"{lost} of {total} words of {examples.origin} are not read: they stand behind the longest input, or the "
            "tokenizer has no token for them.",
        )
        if lost
        else ()
    )
