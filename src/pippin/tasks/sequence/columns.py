"""Which columns hold the text and the label: by flag, by task, by name, then by content; always said."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from typing import Any

from pippin.data.tables import Table, listed
from pippin.errors import PippinError, nearest
from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.base import Columns
from pippin.tasks.sequence.several.writing import is_flags
from pippin.tasks.sequence.task import SequenceTask

_PAIRS = [
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("question", "sentence"),
    ("text1", "text2"),
    ("text_a", "text_b"),
    ("text", "text_pair"),
    ("query", "passage"),
    ("#1 string", "#2 string"),
]
_TEXTS = [
    "text",
    "sentence",
    "document",
    "content",
    "review",
    "question",
    "utterance",
    "query",
    "comment",
    "message",
    "tweet",
    "body",
    "description",
    "input",
    "phrase",
    "headline",
    "title",
    "post",
    "prompt",
]
#: Names that mean the label, whatever stands beside them.
_LABELS = ["label", "labels", "gold_label"]
#: Names that mostly mean the label. Where a table has two of them, the user must say which.
_MAYBE_LABELS = [
    "category",
    "class",
    "target",
    "intent",
    "sentiment",
    "coarse_label",
    "topic",
    "tag",
    "emotion",
    "categories",
    "classes",
    "intents",
    "topics",
    "tags",
    "emotions",
    "genres",
    "type",
    "stars",
    "rating",
    "is_duplicate",
    "quality",
    "score",
    "output",
    "y",
]
_ID_NAME = re.compile(
    r"(id|idx|index|guid|uid|uuid|key|row|no|unnamed.*|__index_level_\d+__|.*[_ ]id|#)", re.IGNORECASE
)
#: Told in one go along a cell, however long that is.
_NUMBER = re.compile(r"\s*[-+]?(\d+([.,]\d+)?|[.,]\d+)([eE][-+]?\d+)?\s*")

#: Rows that are looked at to tell what kind of text a column holds.
_ENOUGH = 1000


def find_columns(
    table: Table, recipe: Recipe, task: SequenceTask, needs_label: bool = True, known: Labels | None = None
) -> Columns:
    """Choose the column of the label (where there must be one) or one for each label, then those of the text.

    ``known`` are the labels of a model that is used as it is.
    """
    flags, label_reason = _flags(table, recipe, task, known)
    label = listed(flags)
    if not flags:
        try:
            label, label_reason = _label_column(table, recipe, task)
        except PippinError:
            if needs_label or recipe.label_column:
                raise
            label, label_reason = "label", "which is not there"
    taken = flags or (label,)
    text, text_reason = _text_columns(table, recipe, task, taken)
    twice = [name for name, times in Counter((*text, *taken)).items() if times > 1]
    if twice:
        raise PippinError(
            f"{table.origin}: column {twice[0]!r} cannot serve twice. "
            f"Name different columns with --text_column and --label_column; there are {listed(table.columns)}."
        )
    if (recipe.no_header or recipe.column_names) and str(table.columns.get(label, [""])[0]).strip().lower() in _LABELS:
        raise PippinError(
            f"{table.origin}, line 1 names the columns ({table.columns[label][0]!r} stands among the labels). "
            "Leave out --no_header and --column_names."
        )
    named = " and ".join(repr(name) for name in text)
    unused = [name for name in table.columns if name not in (*text, *taken)]
    left_out = f"; not used: {listed(unused)}" if unused else ""
    labels = f"labels from {label}" if flags else f"label from {label!r}"
    reason = f"text from {named} ({text_reason}), {labels} ({label_reason}){left_out}"
    return Columns(text, label, reason, bool(recipe.label_column or task.label_column), flags)


def _flags(table: Table, recipe: Recipe, task: SequenceTask, known: Labels | None) -> tuple[tuple[str, ...], str]:
    """The columns of 0 and 1 where each label has one of its own; nothing where one column holds the label."""
    asked = recipe.label_column or ""
    if asked:
        names = tuple(name.strip() for name in asked.split(","))
        several = asked not in table.columns and len(names) > 1
        return (
            (tuple(_named(table, name, "--label_column") for name in names), "named by flag") if several else ((), "")
        )
    if known is not None and known.several and all(name in table.columns for name in known.names):
        return known.names, "the model's labels"
    if known is not None or task.name or task.regression or _by_name(table, recipe)[0]:
        return (), ""
    found = tuple(name for name in _others(table, recipe) if is_flags(table.columns[name]))
    others = [name for name in _by_content(table, _others(table, recipe), False)[0] if name not in found]
    return (
        (found, "the only columns with few different values, all of them 0 and 1")
        if len(found) > 1 > len(others)
        else ((), "")
    )


def _label_column(table: Table, recipe: Recipe, task: SequenceTask) -> tuple[str, str]:
    if recipe.label_column:
        return _named(table, recipe.label_column, "--label_column"), "named by flag"
    if task.label_column:
        return _named(table, task.label_column, f"task {task.name}"), "the task's"
    candidates, why = _by_name(table, recipe)
    if len(candidates) == 1:
        return candidates[0], why
    if not candidates:
        candidates, why = _by_content(table, _others(table, recipe), task.regression)
        if len(candidates) == 1:
            if not recipe.text_column:
                _refuse_missing_header(table)
            return candidates[0], why
    what = f"It could be any of {listed(candidates)}" if candidates else "no column is named label or looks like one"
    raise PippinError(
        f"{table.origin}: which column is the label? {what}; the columns are {listed(table.columns)}. "
        f"Add --label_column NAME.{_header_hint(table)}"
    )


def _others(table: Table, recipe: Recipe) -> list[str]:
    return [name for name in table.columns if name not in recipe.text_column]


def _by_name(table: Table, recipe: Recipe) -> tuple[list[str], str]:
    """Columns whose names mean the label: the one that surely does, else those that may."""
    by_name = {name.lower(): name for name in _others(table, recipe)}
    for known in _LABELS:
        if known in by_name:
            return [by_name[known]], "by its name"
    return [by_name[name] for name in _MAYBE_LABELS if name in by_name], "by its name"


def _by_content(table: Table, names: list[str], numbers: bool) -> tuple[list[str], str]:
    """Columns that may be the label by what they hold, and in words what makes a single one of them it."""
    if numbers:
        found = [name for name in names if _is_numeric(table.columns[name]) and not _looks_like_id(table, name)]
        return found, "the only column of numbers"
    lists = [name for name in names if any(isinstance(cell, list) for cell in table.columns[name])]
    if len(lists) == 1:
        return lists, "the only column of lists"
    return [
        name for name in names if _looks_like_label(table.columns[name])
    ], "the only column with few different values"


def _text_columns(
    table: Table, recipe: Recipe, task: SequenceTask, labels: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    if recipe.text_column:
        return tuple(_named(table, name, "--text_column") for name in recipe.text_column), "named by flag"
    if task.text_columns:
        return tuple(_named(table, name, f"task {task.name}") for name in task.text_columns), "the task's"
    others = [name for name in table.columns if name not in labels]
    by_name = {name.lower(): name for name in others}
    for first, second in _PAIRS:
        if first in by_name and second in by_name:
            return _checked(table, (by_name[first], by_name[second])), "by their names"
    for known in _TEXTS:
        if known in by_name:
            return _checked(table, (by_name[known],)), "by its name"
    wordy = [name for name in others if not _looks_like_id(table, name) and _has_letters(table.columns[name])]
    prose = [name for name in wordy if _is_prose(table.columns[name])]
    if not prose and len(wordy) != 1:
        what = f"It could be any of {listed(wordy)}" if wordy else f"none of {listed(table.columns)} looks like one"
        raise PippinError(
            f"{table.origin}: which column is the text? {what}. Add --text_column NAME.{_header_hint(table)}"
        )
    longest = max(prose or wordy, key=lambda name: _mean_length(table.columns[name]))
    return (longest,), "the longest texts"


def _named(table: Table, name: str, asked_by: str) -> str:
    if name in table.columns:
        return name
    raise PippinError(
        f"{table.origin} has no column {name!r} ({asked_by}); it has {listed(table.columns)}."
        + nearest(name, list(table.columns))
    )


def _checked(table: Table, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if _is_numeric(table.columns[name]):
            example = next(value for value in table.columns[name] if value not in (None, ""))
            raise PippinError(
                f"{table.origin}, column {name!r} holds only numbers (such as {example}), not text. "
                f"Name the text with --text_column; `--text_column {shlex.quote(name)}` takes the numbers as text."
            )
    return names


def _looks_like_id(table: Table, name: str) -> bool:
    return bool(_ID_NAME.fullmatch(name)) and len(set(map(str, table.columns[name]))) > 0.9 * len(table)


def _looks_like_label(values: list[Any]) -> bool:
    present = [str(value).strip() for value in values if value not in (None, "")]
    distinct = set(present)
    short = sum(map(len, distinct)) <= 40 * len(distinct)
    return 2 <= len(distinct) <= max(2, len(present) // 2) and short


def _is_numeric(values: list[Any]) -> bool:
    present = [value for value in values if value not in (None, "")]
    return bool(present) and all(_NUMBER.fullmatch(str(value)) for value in present)


def _has_letters(values: list[Any]) -> bool:
    return any(letter.isalpha() for value in values[:_ENOUGH] if value is not None for letter in str(value))


def _is_prose(values: list[Any]) -> bool:
    """Whether most cells are more than one word of plain letters, as codes, names and addresses are."""
    present = [str(value).strip() for value in values[:_ENOUGH] if value not in (None, "")]
    wordy = sum(" " in value or not value.isascii() for value in present)
    return wordy > len(present) / 2


def _mean_length(values: list[Any]) -> float:
    return sum(len(str(value)) for value in values if value is not None) / max(1, len(values))


def _refuse_missing_header(table: Table) -> None:
    """Stop where the first line of a file, taken for column names, is a row of data."""
    if not _has_header(table):
        return
    for name, values in table.columns.items():
        if _NUMBER.fullmatch(name) or name in values:
            raise PippinError(
                f"{table.origin}, line 1: {name[:60]!r} looks like data, not like the name of a column. "
                "Add a first line that names the columns, or name them with --column_names, as in "
                f"{','.join(_example(len(table.columns)))}; if they are names, choose with --text_column and "
                "--label_column."
            )


def _header_hint(table: Table) -> str:
    if not _has_header(table):
        return ""
    return " (The first line of the file names the columns; if it is a row, add --no_header or --column_names.)"


def _example(columns: int) -> list[str]:
    """Names for so many columns.

    >>> _example(2), _example(4)
    (['text', 'label'], ['text', 'label', 'column3', 'column4'])
    """
    return ["text", "label", *(f"column{place}" for place in range(3, columns + 1))][:columns]


def _has_header(table: Table) -> bool:
    return table.origin.lower().endswith((".csv", ".tsv", ".txt"))
