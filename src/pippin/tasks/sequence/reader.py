"""One split after another from raw cells to checked examples, or a stop with file, row, column and value."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pippin.data.examples import Examples, pairs_of
from pippin.data.tables import Table, listed
from pippin.errors import PippinError, shown
from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.base import Columns
from pippin.tasks.sequence.labels import (
    LARGEST_NUMBER,
    doubts_about_classes,
    find_classes,
    flaw,
    is_missing,
    label_number,
    label_word,
    refuse_single_class,
)
from pippin.tasks.sequence.task import SequenceTask

#: What a cell of one of these kinds is called in a message: none of them is a text or a label.
_NOT_PLAIN: dict[type, str] = {dict: "an object", list: "a list", tuple: "a list", bytes: "bytes"}
_MOST_SHOWN = 5
#: Thousands of characters that are kept of a text where no length is asked for, far more than are read.
_THOUSANDS = 512


class Reader:
    """Reads split after split; the first one fixes the classes for the rest."""

    def __init__(self, task: SequenceTask, columns: Columns, recipe: Recipe):
        self.task, self.columns, self.recipe = task, columns, recipe
        self.labels = Labels(task.classes, task.regression)
        self.notes: list[str] = []
        self.warnings: list[str] = []
        self._classes_known = False

    def read(self, table: Table, split: str, labels_optional: bool = False) -> Examples:
        """The rows of a split as examples; without labels where these are optional and there are none."""
        self.notes += table.notes
        texts = [self._text_cells(table, name) for name in self.columns.text]
        labels = self._label_cells(table, labels_optional)
        good = self._good_rows(table, texts, labels)
        kept = labels if labels is None or len(good) == len(table) else [labels[place] for place in good]
        if kept is not None and not self._classes_known:
            self._learn_classes(table, kept, good)
        numbers = None if kept is None else self._encode(kept, good, table, split)
        first, *others = [[_as_text(cells[place]) for place in good] for cells in texts]
        rows = range(1, len(table) + 1) if len(good) == len(table) else array("q", (place + 1 for place in good))
        return Examples(first, pairs_of(others), numbers, rows, table.origin)

    def task_found(self) -> SequenceTask:
        """What is learnt from the rows that were read."""
        return replace(self.task, labels=self.labels, label_smoothing=self.recipe.label_smoothing_factor)

    @property
    def split_at(self) -> str:
        return "at random" if self.task.regression else "stratified by class"

    def strata(self, examples: Examples) -> np.ndarray | None:
        return None if self.task.regression else examples.labels

    def single_rows(self, examples: Examples) -> str:
        return f", column {self.columns.label!r}: each class has a single row"

    def _text_cells(self, table: Table, name: str) -> list[Any]:
        if name not in table.columns:
            raise PippinError(
                f"{table.origin} has no column {name!r}, which holds the text in training; "
                f"it has {listed(table.columns)}. Name its columns as in training."
            )
        # A text of megabytes would keep the tokenizer busy for minutes, only to be cut. No token is this long.
        most = 1000 * (self.recipe.max_seq_length or _THOUSANDS)
        cells = table.columns[name]
        if not any(isinstance(cell, str) and len(cell) > most for cell in cells):
            return cells
        return [cell.lstrip()[:most] if isinstance(cell, str) and len(cell) > most else cell for cell in cells]

    def _label_cells(self, table: Table, optional: bool) -> list[Any] | None:
        """Labels as words (or numbers), None in each row that has none; None when a test split has no labels."""
        name = self.columns.label
        if name not in table.columns:
            if optional:
                return None
            raise PippinError(
                f"{table.origin} has no column {name!r}, which holds the label in training; "
                f"it has {listed(table.columns)}. Name its columns as in training."
            )
        names = table.class_names.get(name, ())
        for bad in filter(flaw, names):
            raise PippinError(
                f"{table.origin}, column {name!r}: the file names a class that {flaw(bad)}. Write the file again."
            )
        cells = [_named_class(cell, names) for cell in table.columns[name]] if names else table.columns[name]
        words = self._words(cells)
        # On the Hub, -1 throughout a test split means that its labels are kept secret.
        if optional and all(word in (None, "-1", -1.0) for word in words) and "-1" not in self.labels.names:
            return None
        stray = [cell for cell in cells if isinstance(cell, str) and cell != cell.strip() and cell.strip()]
        if stray and not self.task.regression:
            self.notes.append(
                f"{table.origin}: {len(stray)} labels in column {name!r} had spaces around them "
                f"(such as {stray[0]!r}), which were removed."
            )
        return words

    def _words(self, cells: list[Any]) -> list[Any]:
        """Cells as words or numbers, equal ones as one and the same; None where there is none or it cannot be kept."""
        convert = label_number if self.task.regression else label_word
        known: dict[str, Any] = {}
        words = []
        for cell in cells:
            if type(cell) is not str:
                words.append(None if type(cell) in _NOT_PLAIN else convert(cell))
                continue
            if cell not in known:
                known[cell] = None if _is_broken(cell) or flaw(cell) else convert(cell)
            words.append(known[cell])
        return words

    def _good_rows(self, table: Table, texts: list[list[Any]], labels: list[Any] | None) -> Sequence[int]:
        """Places of the rows that have what they need; stops at the others unless they are to be left out."""
        problems: dict[int, str] = {}
        for name, cells in zip(self.columns.text, texts, strict=True):
            for place, cell in enumerate(cells):
                problem = _text_problem(cell)
                if problem:
                    problems.setdefault(place, f"column {name!r} {problem}")
        for place, label in enumerate(labels or []):
            if label is None:
                problems.setdefault(place, self._label_trouble(table, place))
        if problems and not self.recipe.skip_bad_rows:
            raise PippinError(_describe(problems, table))
        if problems:
            first = min(problems)
            self.notes.append(
                f"{table.origin}: {len(problems)} of {len(table)} rows left out, "
                f"the first being {table.row_name(first)}: {problems[first]}."
            )
        if not problems:
            return range(len(table))
        good = array("q", (place for place in range(len(table)) if place not in problems))
        if not good:
            raise PippinError(f"{_describe(problems, table)} With --skip_bad_rows no row is left.")
        return good

    def _label_trouble(self, table: Table, place: int) -> str:
        """What is wrong with the label of a row that has none which could be learnt."""
        found = table.columns[self.columns.label][place]
        return f"column {self.columns.label!r} {self._label_problem(found)}"

    def _label_problem(self, found: Any) -> str:
        if type(found) in _NOT_PLAIN:
            return f"holds {_NOT_PLAIN[type(found)]} ({shown(found)}), and one label a row is to be learnt"
        if is_missing(found):
            return "is empty"
        if _is_broken(found):
            return f"holds a line break ({shown(found)}). Is a double quote not closed?"
        found_flaw = flaw(found)
        if found_flaw:
            return found_flaw
        if self.task.regression:
            if _is_too_large(found):
                return f"holds {shown(found)}, which is too large: {LARGEST_NUMBER:.1e} is the most"
            comma = ": write a point, not a comma, before decimals" if "," in str(found) else ""
            return f"holds {shown(found)}, not a number{comma}"
        return f"holds {shown(found)}, which marks a row without a label"

    def _learn_classes(self, table: Table, words: list[Any], good: Sequence[int]) -> None:
        self._classes_known = True
        column = f"{table.origin}, column {self.columns.label!r}"
        if len(set(words)) == 1 and self.task.regression:
            raise PippinError(f"{column}: every row has the number {words[0]:g}, so there is nothing to learn.")
        if self.task.regression:
            return
        carried = tuple(str(label_word(name)) for name in table.class_names.get(self.columns.label, ()))
        names = self.task.classes or carried
        if not names:
            names = find_classes(words, column, lambda place: table.where(good[place]), self.columns.label_is_certain)
        self.labels = Labels(names)
        if not self.recipe.wants_training:
            return
        refuse_single_class(words, column)
        numbers = self._numbers()
        spelt = [names[numbers[word]] for word in words if word in numbers]
        self.warnings += [f"{column}: {doubt}." for doubt in doubts_about_classes(names, spelt)]

    def _numbers(self) -> dict[str, int]:
        """The class number that each word stands for."""
        numbers = {name: number for number, name in enumerate(self.labels.names)}
        if (
            self.task.name and self.task.classes
        ):  # known tasks carry the class's number in some files and its name in others
            numbers |= {str(number): number for number in range(len(self.labels.names))}
        return numbers

    def _encode(self, words: list[Any], good: Sequence[int], table: Table, split: str) -> np.ndarray:
        if self.task.regression:
            return np.array(words, dtype=np.float32)
        numbers = self._numbers()
        for word, place in zip(words, good, strict=True):
            if word not in numbers:
                raise PippinError(
                    f"{table.where(place)}, column {self.columns.label!r}: the label {word!r} {self._unknown(split)}"
                )
        return np.fromiter((numbers[word] for word in words), np.int64, len(words))

    def _unknown(self, split: str) -> str:
        known = listed(self.labels.names, 10)
        if self.task.classes:
            if self.task.name is None:
                return f"is none of the model's classes: {known}. Correct it, or name another model."
            return f"is none of {self.task.name}'s classes: {known}. Correct it, or check --task_name and --data_dir."
        few = " (--max_train_samples may have left some out)" if self.recipe.max_train_samples else ""
        return (
            f"of the {split} rows is not in the training rows, which have {known}{few}. "
            "Correct it, or add training rows of that class."
        )


def _as_text(cell: Any) -> str:
    return cell if type(cell) is str else str(cell)


def _is_broken(cell: Any) -> bool:
    """Whether a label runs over several lines: no label does, but a quote that is never closed makes one."""
    return isinstance(cell, str) and "\n" in cell.strip()


def _is_too_large(cell: Any) -> bool:
    """Whether a cell is a number that no model can be told."""
    try:
        return not abs(float(cell)) <= LARGEST_NUMBER and not math.isnan(float(cell))
    except OverflowError:
        return True
    except (TypeError, ValueError):
        return False


def _named_class(cell: Any, names: tuple[str, ...]) -> Any:
    """The name behind a number, where the file names its classes; None for -1, which marks a missing label there."""
    if not isinstance(cell, int) or isinstance(cell, bool):
        return cell
    return names[cell] if 0 <= cell < len(names) else None


def _text_problem(cell: Any) -> str | None:
    if type(cell) in _NOT_PLAIN:
        return f"holds {_NOT_PLAIN[type(cell)]} ({shown(cell)}), not text"
    if is_missing(cell):
        return f"holds only white space ({shown(cell)})" if isinstance(cell, str) and cell else "is empty"
    return flaw(cell)


def _describe(problems: dict[int, str], table: Table) -> str:
    """The first rows that are wrong, all of one file, and what to do."""
    file = table.file_of(min(problems))
    here = [place for place in sorted(problems) if table.file_of(place) == file][:_MOST_SHOWN]
    shown = "; ".join(f"{table.row_name(place)}: {problems[place]}" for place in here)
    more = f"; and {len(problems) - len(here)} rows more" if len(problems) > len(here) else ""
    them = "them" if len(problems) > 1 else "it"
    other = " If it is the wrong column, name another with --text_column or --label_column."
    return (
        f"{file}, {shown}{more}. Fix {them}, or add --skip_bad_rows to leave {them} out."
        f"{other if len(problems) > len(table) / 2 else ''}"
    )
