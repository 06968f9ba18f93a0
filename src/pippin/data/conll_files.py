"""CoNLL files: a word on each line with its tags in columns, and an empty line after each sentence."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from pippin.data.chunks import in_chunks
from pippin.data.tables import Table, TableStream, columns_of
from pippin.data.text_files import empty_file, lines_of
from pippin.errors import PippinError, shown

#: The column of the words.
TOKENS = "tokens"
#: A tag with a prefix, or none at all.
TAG = re.compile(r"O|[BIESLUM]-\S+")
_DOCUMENT = "-DOCSTART-"
#: Lines by which the form is told.
_ENOUGH = 1000
_PREFIX = re.compile(r"[a-z]{2,3}(-[a-z]+)?:")
#: The columns of a CoNLL-U file, and what stands in its first one for a word that is written as several, or not at all.
_UNIVERSAL = ("id", TOKENS, "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_NO_WORD = re.compile(r"\d+[-.]\d+")
#: Signs without a width, such as a byte order mark where files were joined: a line of them is empty to the eye.
_NOTHING = "\ufeff\u200b\u200c\u200d\u2060"
#: What the columns of the shared tasks of 2000 and 2003 are called elsewhere.
_SHARED_TASKS = {
    (False, True): (TOKENS, "pos_tags", "chunk_tags"),
    (False, True, True): (TOKENS, "pos_tags", "chunk_tags", "ner_tags"),
}

Blocks = Callable[[], Iterator[str]]


class Words(list[str]):
    """The words of a sentence, or their tags, and the line on which each stands."""

    lines: Sequence[int] = ()


@dataclass(frozen=True)
class _Form:
    """How the words of a file are written."""

    separator: str | None
    """Between columns; None for any white space."""
    columns: int
    prefix: str = ""
    """What stands before each word, such as a language."""
    names: tuple[str, ...] = ()

    def cells(self, line: str) -> list[str]:
        return [cell.strip() for cell in line.split("\t")] if self.separator else line.split()

    def is_comment(self, line: str) -> bool:
        """Whether a line at the beginning of a sentence is about it."""
        if not line.startswith("#"):
            return False
        cells = self.cells(line)
        return len(cells) != self.columns or (self.columns > 1 and line[1:2] == " " and not TAG.fullmatch(cells[-1]))


def looks_like_conll(blocks: Iterator[str]) -> bool:
    """Whether a text file without a telling name has words and tags in lines: told by its beginning."""
    lines = [line.rstrip("\r\n") for line in islice(lines_of(blocks, ""), _ENOUGH)]
    form = _form_of(lines)
    if form is None or form.columns < 2:
        return False
    words = [form.cells(line) for line in lines if _is_word(line)]
    tags = Counter(cells[-1] for cells in words if len(cells) == form.columns)
    has_ends = any(map(_is_empty, lines))
    return has_ends and len(tags) > 1 and all(map(TAG.fullmatch, tags)) and sum(tags.values()) > 0.9 * len(words)


def open_conll(blocks: Blocks, origin: str, names: tuple[str, ...] | None = None) -> TableStream:
    """The sentences of a file: the column ``tokens``, and a list of tags for each of the others.

    ``names`` are those of the columns where they were given.
    """
    lines = [line.rstrip("\r\n") for line in islice(lines_of(blocks(), origin), _ENOUGH)]
    form = _form_of(lines)
    if form is None:
        raise empty_file(origin)
    if names and len(names) != form.columns:
        raise PippinError(f"{origin} has {form.columns} columns, and --column_names {len(names)}: {', '.join(names)}.")
    if names and TOKENS not in names:
        raise PippinError(f"--column_names {','.join(names)}: call the column of the words {TOKENS!r}.")
    form = _Form(form.separator, form.columns, form.prefix, names or form.names)
    sentences = sum(1 for _ in _sentences(blocks, form, origin))
    notes = []
    if form.columns > 2:
        notes.append(f"{origin}: a word on each line, with the columns {', '.join(form.names)}.")
    if form.prefix:
        notes.append(f"{origin}: {form.prefix!r} before each word is left out.")

    def parts() -> Iterator[Table]:
        for first, chunk in in_chunks(_sentences(blocks, form, origin), _characters):
            starts = array("q", (cells[0].lines[0] for cells in chunk))
            yield Table(columns_of(form.names, chunk), origin, lines=starts, first=first)

    return TableStream(origin, form.names, parts, sentences, tuple(notes), is_conll=True)


def _characters(cells: Sequence[Words]) -> int:
    return sum(len(word) for words in cells for word in words)


def _is_empty(line: str) -> bool:
    return not line.strip().strip(_NOTHING)


def _is_word(line: str) -> bool:
    return not _is_empty(line) and not line.startswith(("#", _DOCUMENT))


def _form_of(lines: list[str]) -> _Form | None:
    """The form that most lines have; None where there is no word."""
    words = [line for line in lines if _is_word(line)] or [line for line in lines if not _is_empty(line)]
    if not words:
        return None
    separator = "\t" if sum("\t" in line for line in words) > len(words) / 2 else None
    form = _Form(separator, 0)
    count = Counter(len(form.cells(line)) for line in words).most_common(1)[0][0]
    rows = [cells for cells in map(form.cells, words) if len(cells) == count]
    names = _names_of(rows, count)
    column = names.index(TOKENS)
    found = {match[0] if (match := _PREFIX.match(cells[column])) else "" for cells in rows}
    return _Form(separator, count, found.pop() if len(found) == 1 else "", names)


def _names_of(rows: list[list[str]], count: int) -> tuple[str, ...]:
    is_numbered = count > 1 and all(cells[0].isdigit() or _NO_WORD.fullmatch(cells[0]) for cells in rows)
    if is_numbered and count == len(_UNIVERSAL):
        return _UNIVERSAL
    first = 1 if is_numbered else 0  # the place of the words
    tagged = tuple(all(TAG.fullmatch(cells[place]) for cells in rows) for place in range(first + 1, count))
    if not is_numbered and tagged in _SHARED_TASKS:
        return _SHARED_TASKS[tagged]
    if len(tagged) == 1:
        return (*("id" for _ in range(first)), TOKENS, "tags")
    return (*("id" for _ in range(first)), TOKENS, *(f"column{place + 1}" for place in range(first + 1, count)))


def _sentences(blocks: Blocks, form: _Form, origin: str) -> Iterator[list[Words]]:
    """For each sentence its columns."""
    rows: list[tuple[int, list[str]]] = []
    for number, line in enumerate(lines_of(blocks(), origin), 1):
        text = line.rstrip("\r\n")
        if _is_empty(text) or text.startswith(_DOCUMENT):
            if rows:
                yield _columns(rows, form)
            rows = []
        elif rows or not form.is_comment(text):
            cells = _checked(form.cells(text), form, origin, number)
            if form.names[0] != "id" or not _NO_WORD.fullmatch(cells[0]):
                rows.append((number, cells))
    if rows:
        yield _columns(rows, form)


def _checked(cells: list[str], form: _Form, origin: str, number: int) -> list[str]:
    if len(cells) != form.columns:
        raise PippinError(
            f"{origin}, line {number} has {len(cells)} column{'s' * (len(cells) != 1)}, and the others have "
            f"{form.columns}: {shown(' '.join(cells))}. Correct the line; between sentences, leave a line empty."
        )
    if not all(cells):
        raise PippinError(
            f"{origin}, line {number}: the column {form.names[cells.index('')]!r} is empty. Fill it in, or take the "
            "line out."
        )
    return cells


def _columns(rows: list[tuple[int, list[str]]], form: _Form) -> list[Words]:
    numbers: Sequence[int] = [number for number, _ in rows]
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        numbers = range(numbers[0], numbers[-1] + 1)
    found = []
    for name, cells in zip(form.names, zip(*(cells for _, cells in rows), strict=True), strict=True):
        words = Words(cell.removeprefix(form.prefix) for cell in cells) if name == TOKENS else Words(cells)
        words.lines = numbers
        found.append(words)
    return found
