"""Rows that may have several labels each: a line of 0 and 1 for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pippin.data.examples import Examples
from pippin.data.tables import Table, listed
from pippin.errors import PippinError
from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.base import Columns
from pippin.tasks.sequence.labels import doubts_about_classes, in_order
from pippin.tasks.sequence.reader import Reader
from pippin.tasks.sequence.several.task import SeveralTask
from pippin.tasks.sequence.several.writing import Unreadable, Writing
from pippin.tasks.sequence.task import SequenceTask

#: So many labels are believed without asking whether the column is the right one.
_FEW_LABELS = 20


class SeveralReader(Reader):
    def __init__(self, task: SequenceTask, columns: Columns, recipe: Recipe, writing: Writing):
        super().__init__(task, columns, recipe)
        self.writing = writing
        self.labels = Labels(task.classes, several=True)
        off = "" if writing.form != "delimited" else " If each cell is one class, add --several_labels off."
        self.notes.append(f"labels: {writing.in_words}.{off}")

    def task_found(self) -> SequenceTask:
        return SeveralTask(labels=self.labels)

    @property
    def split_at(self) -> str:
        return "stratified by each row's rarest label"

    def strata(self, examples: Examples) -> np.ndarray | None:
        """The rarest label of each row, so that every label finds its way into both parts."""
        if examples.labels is None:
            return None
        rows = examples.labels.sum(0)
        ranked = np.where(examples.labels, rows, len(examples) + 1)
        # Rows without any label are a class of their own.
        return np.where(examples.labels.any(1), ranked.argmin(1), examples.labels.shape[1])

    def _label_cells(self, table: Table, optional: bool) -> list[Any] | None:
        lacking = [name for name in self.writing.columns if name not in table.columns]
        if optional and len(lacking) == len(self.writing.columns):
            return None
        if lacking:
            raise PippinError(
                f"{table.origin} has no column {listed(lacking)}, which holds labels in training; "
                f"it has {listed(table.columns)}. Name its columns as in training."
            )
        rows = [self._labels_of(table, place) for place in range(len(table))]
        return None if optional and not any(rows) else rows

    def _labels_of(self, table: Table, place: int) -> tuple[str, ...] | None:
        try:
            return self._read_labels(table, place)
        except Unreadable:
            return None

    def _read_labels(self, table: Table, place: int) -> tuple[str, ...] | None:
        cells = [table.columns[name][place] for name in self.writing.columns]
        return self.writing.labels(cells, table.class_names.get(self.writing.columns[0], ()))

    def _label_trouble(self, table: Table, place: int) -> str:
        own = "" if self.writing.form == "flags" else f"column {self.columns.label!r} "
        try:
            self._read_labels(table, place)
        except Unreadable as problem:
            return f"{own}{problem}"
        return f"column {self.columns.label!r} is empty"

    def _learn_classes(self, table: Table, words: list[Any], good: Sequence[int]) -> None:
        self._classes_known = True
        column = f"{table.origin}, column {self.columns.label!r}"
        given = [word for row in words for word in row]
        names = self.task.classes
        if self.writing.form == "flags" and not names:
            names = self.writing.columns
        names = names or table.class_names.get(self.writing.columns[0], ()) or in_order(set(given))
        if len(set(given)) < 2:
            raise PippinError(
                f"{column}: {'no row has a label' if not given else f'the only label is {given[0]!r}'}, and several "
                "are to be learnt. Add rows with other labels, or name another column with --label_column."
            )
        if len(names) > max(_FEW_LABELS, len(words) // 2) and not self.columns.label_is_certain:
            raise PippinError(
                f"{column} has {len(names)} different labels in {len(words)} rows. Is it the right column? "
                "Name it with --label_column."
            )
        self.labels = Labels(names, several=True)
        empty = sum(not row for row in words)
        if empty:
            self.notes.append(
                f"{table.origin}: {empty} of {len(words)} rows have no label at all, which is learnt too."
            )
        if self.recipe.wants_training:
            self.warnings += [f"{column}: {doubt}." for doubt in doubts_about_classes(names, given)]

    def _encode(self, words: list[Any], good: Sequence[int], table: Table, split: str) -> np.ndarray:
        numbers = {name: number for number, name in enumerate(self.labels.names)}
        found = np.zeros((len(words), len(numbers)), np.uint8)
        for row, (labels, place) in enumerate(zip(words, good, strict=True)):
            for label in labels:
                if label not in numbers:
                    raise PippinError(
                        f"{table.where(place)}, column {self.columns.label!r}: the label {label!r} "
                        f"{self._unknown(split)}"
                    )
                found[row, numbers[label]] = 1
        return found
