"""Which column holds the words and which their tags: by flag, by task, by name, then by content; always said."""

from __future__ import annotations

from itertools import islice
from typing import Any

from pippin.data.tables import Table, listed
from pippin.errors import PippinError, nearest
from pippin.recipe import Recipe
from pippin.tasks.base import Columns

_WORDS = ("tokens", "words", "token", "word", "sentence", "text")
#: Names of tags, those that most people want first.
_TAGS = ("ner_tags", "tags", "labels", "ner", "entities", "label", "pos_tags", "upos", "pos", "chunk_tags", "xpos")
#: Rows by which columns are judged.
_ENOUGH = 200


def is_tagged(table: Table, recipe: Recipe) -> bool:
    """Whether a table holds lists of words, and beside each list another of as many tags."""
    words = [name for name in _word_columns(table) if not recipe.text_column or name in recipe.text_column][:1]
    tags = [recipe.label_column] if recipe.label_column else list(table.columns)
    return any(
        _is_beside(table, word, name) for word in words for name in tags if name != word and name in table.columns
    )


def find_tag_columns(table: Table, recipe: Recipe, task: str | None, needs_tags: bool = True) -> Columns:
    """The columns of words and tags. ``task``, as in ``ner``, prefers the tags of that name."""
    words, why_words = _words_column(table, recipe)
    label, why_label = "tags", "which are not there"
    try:
        label, why_label = _tags_column(table, recipe, task, words)
    except PippinError:
        if needs_tags or recipe.label_column:
            raise
    unused = [name for name in table.columns if name not in (words, label)]
    left_out = f"; not used: {listed(unused)}" if unused else ""
    reason = f"words from {words!r} ({why_words}), a tag for each from {label!r} ({why_label}){left_out}"
    return Columns((words,), label, reason, label_is_certain=True)


def _words_column(table: Table, recipe: Recipe) -> tuple[str, str]:
    if len(recipe.text_column) > 1:
        raise PippinError(
            f"--text_column {','.join(recipe.text_column)} names {len(recipe.text_column)} columns, and words come "
            "from one. Name one."
        )
    if recipe.text_column:
        return _named(table, recipe.text_column[0], "--text_column"), "named by flag"
    found = [name for name in _word_columns(table) if name != recipe.label_column]
    by_name = [name for known in _WORDS for name in found if name.lower() == known]
    if by_name:
        return by_name[0], "by its name"
    others = [name for name in found if not _is_named_like_tags(name)]
    if len(others) == 1:
        return others[0], "the only column of lists of words"
    what = f"It could be any of {listed(others)}" if others else f"none of {listed(table.columns)} holds lists of words"
    raise PippinError(
        f'{table.origin}: which column holds the words? {what}. Write a list of words in each row, as in {{"tokens": '
        '["a", "word"], "tags": ["O", "O"]}, and name its column with --text_column.'
    )


def _tags_column(table: Table, recipe: Recipe, task: str | None, words: str) -> tuple[str, str]:
    if recipe.label_column:
        return _named(table, recipe.label_column, "--label_column"), "named by flag"
    if task and f"{task}_tags" in table.columns:
        return f"{task}_tags", f"by task {task}"
    if task and task in table.columns:
        return task, f"by task {task}"
    found = [name for name in table.columns if name != words and _is_beside(table, words, name)]
    by_name = [name for known in _TAGS for name in found if name.lower() == known]
    if by_name:
        others = f", not {listed(by_name[1:])}: choose with --label_column" if len(by_name) > 1 else ""
        return by_name[0], f"by its name{others}"
    if len(found) == 1:
        return found[0], "the only column with a tag for each word"
    what = f"It could be any of {listed(found)}" if found else f"none has as many tags as {words!r} has words"
    raise PippinError(
        f"{table.origin}: which column holds the tags? {what}; the columns are {listed(table.columns)}. "
        "Add --label_column NAME."
    )


def _named(table: Table, name: str, asked_by: str) -> str:
    if name in table.columns:
        return name
    raise PippinError(
        f"{table.origin} has no column {name!r} ({asked_by}); it has {listed(table.columns)}."
        + nearest(name, list(table.columns))
    )


def _word_columns(table: Table) -> list[str]:
    """The columns of lists of words, those first that are named so."""
    found = [name for name, cells in table.columns.items() if _holds(cells, str)]
    return sorted(found, key=lambda name: _WORDS.index(name.lower()) if name.lower() in _WORDS else len(_WORDS))


def _holds(cells: list[Any], kind: type | tuple[type, ...]) -> bool:
    """Whether the first cells are lists of this kind, as far as there are any, and some are not empty."""
    start = [cell for cell in islice(cells, _ENOUGH) if cell is not None]
    return any(start) and all(
        isinstance(cell, (list, tuple)) and all(isinstance(item, kind) for item in cell) for cell in start
    )


def _is_beside(table: Table, words: str, name: str) -> bool:
    """Whether a column has an item for each word of another, in most rows: the others are told one by one."""
    if not _holds(table.columns[name], (str, int)):
        return False
    both = islice(zip(table.columns[words], table.columns[name], strict=True), _ENOUGH)
    same = [len(one) == len(other) for one, other in both if one is not None and other is not None]
    return sum(same) > len(same) / 2


def _is_named_like_tags(name: str) -> bool:
    return name.lower() in _TAGS
