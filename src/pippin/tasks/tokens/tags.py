"""Tags of words: which ways there are to write them, and the entities that they make."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

#: What stands on words outside of every entity.
OUTSIDE = "O"
Scheme = Literal["BIO", "IOB1", "IOBES", "plain"]

#: The letters of the ways to write tags. All mean: begins, goes on, ends, stands alone.
_LETTERS = {"B": "B", "I": "I", "M": "I", "E": "E", "L": "E", "S": "S", "U": "S"}

IN_WORDS: dict[Scheme, str] = {
    "BIO": "BIO tags: B- begins an entity, I- goes on with it",
    "IOB1": "IOB1 tags (B- only between two entities of a kind), learnt as BIO",
    "IOBES": "IOBES or BILOU tags, learnt as BIO",
    "plain": "plain tags, one for each word",
}


@dataclass(frozen=True)
class Entity:
    """Words of a sentence that make one name."""

    kind: str
    first: int
    last: int


def parts_of(tag: str) -> tuple[str, str]:
    """A tag's letter, in the letters of IOBES, and its kind; of a tag without a letter the letter is empty.

    >>> parts_of("B-PER"), parts_of("L-B-cell"), parts_of("O"), parts_of("NOUN")
    (('B', 'PER'), ('E', 'B-cell'), ('O', ''), ('', 'NOUN'))
    """
    if tag == OUTSIDE:
        return OUTSIDE, ""
    letter, dash, kind = tag.partition("-")
    return (_LETTERS[letter], kind) if dash and letter in _LETTERS and kind else ("", tag)


def scheme_of(sentences: Iterable[Sequence[str]], tags: Collection[str]) -> Scheme:
    """How the tags of some sentences are written. ``tags`` are all that occur."""
    letters = {tag.partition("-")[0] for tag in tags if parts_of(tag)[0] not in ("", OUTSIDE)}
    if not letters or any(parts_of(tag)[0] == "" for tag in tags):
        return "plain"
    if letters & {"E", "S", "L", "U", "M"}:
        return "IOBES"
    if "B" not in letters:
        return "IOB1"
    begun = sum(_begins_with_b(sentence) for sentence in sentences)
    return "IOB1" if begun < 0 else "BIO"


def _begins_with_b(sentence: Sequence[str]) -> int:
    """How many entities of a sentence begin with B- after another kind or none, less those that begin with I-."""
    found, before = 0, (OUTSIDE, "")
    for letter, kind in map(parts_of, sentence):
        if letter != OUTSIDE and kind != before[1]:
            found += 1 if letter == "B" else -1
        before = letter, kind
    return found


def entities(sentence: Sequence[str]) -> list[Entity]:
    """What the tags of a sentence mark, as the shared task of 2000 counted: a broken sequence is read with good will.

    An entity begins at B- and S-, and wherever one goes on that has not begun or is of another kind.

    >>> entities(["B-PER", "I-PER", "O", "I-LOC", "B-LOC"])
    [Entity(kind='PER', first=0, last=1), Entity(kind='LOC', first=3, last=3), Entity(kind='LOC', first=4, last=4)]
    """
    found: list[Entity] = []
    before = (OUTSIDE, "")
    for place, (letter, kind) in enumerate(map(parts_of, sentence)):
        if letter == OUTSIDE:
            before = (OUTSIDE, "")
            continue
        goes_on = letter in ("I", "E") and before[0] in ("B", "I") and before[1] == kind
        if goes_on:
            found[-1] = Entity(kind, found[-1].first, place)
        else:
            found.append(Entity(kind, place, place))
        before = letter, kind
    return found


def as_bio(sentence: Sequence[str]) -> list[str]:
    """The same entities in BIO."""
    tags = [OUTSIDE] * len(sentence)
    for entity in entities(sentence):
        tags[entity.first] = f"B-{entity.kind}"
        tags[entity.first + 1 : entity.last + 1] = [f"I-{entity.kind}"] * (entity.last - entity.first)
    return tags


def broken(sentence: Sequence[str], scheme: Scheme) -> Iterator[tuple[int, str]]:
    """The words whose tag cannot stand where it does, and why."""
    before = (OUTSIDE, "")
    for place, (letter, kind) in enumerate(map(parts_of, sentence)):
        is_same = kind == before[1]
        is_open = is_same and before[0] in (("B", "I") if scheme == "IOBES" else ("B", "I", "E", "S"))
        goes_on_from_nothing = letter in ("I", "E") and not is_open and scheme != "IOB1"
        divides_nothing = letter == "B" and not (is_same and before[0] in ("B", "I")) and scheme == "IOB1"
        if goes_on_from_nothing or divides_nothing:
            yield place, f"{sentence[place]} follows {sentence[place - 1] if place else 'nothing'}"
        elif scheme == "IOBES" and letter in (OUTSIDE, "B", "S") and before[0] in ("B", "I"):
            yield place, f"{sentence[place]} follows {sentence[place - 1]}, which goes on"
        before = letter, kind
    if scheme == "IOBES" and before[0] in ("B", "I"):
        yield len(sentence) - 1, f"{sentence[-1]} is the last, and goes on"
