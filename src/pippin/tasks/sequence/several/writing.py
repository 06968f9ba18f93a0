"""How a file writes the labels of a row that may have several: as lists, in one cell, or in a column for each label."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pippin.data.tables import Table, listed
from pippin.errors import PippinError, shown
from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.base import Columns
from pippin.tasks.sequence.labels import flaw, is_missing, label_word

_DELIMITERS = ("|", ";", ",")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
#: A list written as text, as pandas does, is no longer than this; Python's parser would take its time.
_LONGEST_LIST = 10_000
_TRUTHS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


class Unreadable(ValueError):
    """What a cell holds instead of labels, in words."""


@dataclass(frozen=True)
class Writing:
    form: Literal["lists", "delimited", "flags"]
    columns: tuple[str, ...]
    """The column of the labels, or one of 0 and 1 for each label."""
    delimiter: str = ""

    def labels(self, cells: Sequence[Any], names: tuple[str, ...] = ()) -> tuple[str, ...] | None:
        """The labels of a row, each once; None where the cells say nothing. ``names``: of numbered classes."""
        if self.form == "flags":
            if all(map(is_missing, cells)):
                return None
            return tuple(name for name, cell in zip(self.columns, cells, strict=True) if truth(cell, name))
        (cell,) = cells
        if is_missing(cell):
            return () if self.form == "delimited" and cell is not None else None
        items = _items(cell) if self.form == "lists" else str(cell).split(self.delimiter)
        words = (_word(item, names) for item in items if self.form == "lists" or item.strip())
        return tuple(dict.fromkeys(words))

    @property
    def in_words(self) -> str:
        if self.form == "flags":
            return "one column of 0 and 1 for each label"
        return "lists of labels" if self.form == "lists" else f"several labels a row, separated by {self.delimiter!r}"


def find_writing(table: Table, columns: Columns, recipe: Recipe, known: Labels | None) -> Writing | None:
    """How the rows of a table write several labels; None where each has one. ``known`` are those of a model."""
    wanted = {"on": True, "off": False}.get(recipe.several_labels or "", known.several if known else None)
    if columns.flags:
        if wanted is False:
            raise PippinError(
                f"{listed(columns.flags)} are several labels a row, and one is wanted. Name one column with "
                "--label_column, or leave out --several_labels off."
            )
        return Writing("flags", columns.flags)
    if wanted is False or columns.label not in table.columns:
        return None
    cells = table.columns[columns.label]
    if any(isinstance(cell, (list, tuple)) or _is_written_list(cell) for cell in cells):
        return Writing("lists", (columns.label,))
    texts = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    if known and known.several:
        names = set(known.names)
        fitting = {each: sum(names.issuperset(_parts(text, each)) for text in texts) for each in _DELIMITERS}
        return Writing("delimited", (columns.label,), max(_DELIMITERS, key=lambda each: fitting[each]))
    found = next((each for each in _DELIMITERS if _recur(texts, each)), None)
    if found is None and wanted:
        found = max(_DELIMITERS, key=lambda each: sum(each in text for text in texts))
    return None if found is None else Writing("delimited", (columns.label,), found)


def truth(cell: Any, name: str) -> bool:
    """Whether a column of 0 and 1 gives its label to a row."""
    word = label_word(cell)
    if word is None or word.lower() not in _TRUTHS:
        what = "is empty" if word is None else f"holds {shown(cell)}"
        raise Unreadable(f"column {name!r} {what}, and 0 or 1 is wanted")
    return _TRUTHS[word.lower()]


def is_flags(cells: Sequence[Any]) -> bool:
    """Whether a column holds nothing but 0 and 1, or true and false, and both of them."""
    words = {label_word(cell) for cell in cells}
    return len(words) == 2 and words <= _TRUTHS.keys() and len({_TRUTHS[str(word)] for word in words}) == 2


def _recur(texts: list[str], delimiter: str) -> bool:
    """Whether the parts of cells stand in other cells too, in other company: else a class's name has a delimiter."""
    if delimiter == "," and all(_DECIMAL_COMMA.fullmatch(text) for text in texts if "," in text):
        return False
    distinct = {tuple(dict.fromkeys(_parts(text, delimiter))) for text in texts}
    cells_of = Counter(part for parts in distinct for part in parts)
    joined = [parts for parts in distinct if len(parts) > 1]
    again = [parts for parts in joined if all(cells_of[part] > 1 for part in parts)]
    return bool(joined) and len(again) >= len(joined) / 2 and len(cells_of) <= max(len(texts) / 2, len(distinct))


def _parts(text: str, delimiter: str) -> list[str]:
    return [part.strip() for part in text.split(delimiter) if part.strip()]


def _is_written_list(cell: Any) -> bool:
    return isinstance(cell, str) and cell.strip().startswith("[") and cell.strip().endswith("]")


def _items(cell: Any) -> Sequence[Any]:
    if isinstance(cell, (list, tuple)):
        return cell
    if not _is_written_list(cell):
        return [cell]
    try:
        found = ast.literal_eval(cell.strip()) if len(cell) <= _LONGEST_LIST else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise Unreadable(f"holds {shown(cell)}, which is no list of labels")
    return found


def _word(item: Any, names: tuple[str, ...]) -> str:
    if names and isinstance(item, int) and not isinstance(item, bool):
        if not 0 <= item < len(names):
            raise Unreadable(f"holds the number {item}, and the file names {len(names)} labels")
        return names[item]
    if isinstance(item, (dict, list, tuple, bytes)):
        raise Unreadable(f"holds {shown(item)} in its list, which is no label")
    if found := flaw(item):
        raise Unreadable(found)
    word = label_word(item)
    if word is None:
        raise Unreadable("holds an empty label in its list")
    if "\n" in word:
        raise Unreadable(f"holds a line break ({shown(word)}). Is a double quote not closed?")
    return word
