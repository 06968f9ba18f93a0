"""Raw rows into checked examples. All that is wrong with the data is found here, before any model is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pippin.data.columns import Columns, find_columns
from pippin.data.labels import Labels, find_classes, label_number, label_word, look_alikes
from pippin.data.sources import Source
from pippin.data.split import hold_out
from pippin.data.tables import Table
from pippin.data.tasks import Task
from pippin.errors import PippinError
from pippin.recipe import Recipe

#: Fewest rows from which a validation part can be cut.
_FEWEST_ROWS = 10


@dataclass(frozen=True)
class Examples:
    """Texts (and second texts) with their labels as numbers; labels are None for rows to predict."""

    texts: list[str]
    pairs: list[str] | None
    labels: np.ndarray | None
    rows: list[int]
    """Row numbers in the file, from 1."""
    origin: str

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, chosen: np.ndarray) -> Examples:
        """The examples at these places."""
        return Examples(
            [self.texts[place] for place in chosen],
            None if self.pairs is None else [self.pairs[place] for place in chosen],
            None if self.labels is None else self.labels[chosen],
            [self.rows[place] for place in chosen],
            self.origin,
        )


@dataclass(frozen=True)
class Dataset:
    """Checked examples by split, and what was found on the way."""

    name: str
    task: Task
    columns: Columns
    labels: Labels
    train: Examples | None
    validation: dict[str, Examples]
    test: dict[str, Examples]
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def with_classes(self, labels: Labels) -> Dataset:
        """The same rows with the classes in another order."""
        if labels.names == self.labels.names:
            return self
        numbers = np.array([labels.names.index(name) for name in self.labels.names])

        def renumber(split: Examples) -> Examples:
            return split if split.labels is None else replace(split, labels=numbers[split.labels])

        return replace(
            self,
            labels=labels,
            train=self.train and renumber(self.train),
            validation={name: renumber(split) for name, split in self.validation.items()},
            test={name: renumber(split) for name, split in self.test.items()},
        )


def prepare(source: Source, recipe: Recipe) -> Dataset:
    """Check the rows of a source and turn them into examples, or stop with file, row and column."""
    first = source.train or next(iter([*source.validation.values(), *source.test.values()]))
    columns = find_columns(first, recipe, source.task)
    reader = _Reader(source.task, columns, recipe)
    train = None
    if source.train is not None:
        train = reader.read(source.train.head(recipe.max_train_samples), "training")
    validation = {
        name: reader.read(table.head(recipe.max_eval_samples), name) for name, table in source.validation.items()
    }
    test = {
        name: reader.read(table.head(recipe.max_predict_samples), name, labels_optional=True)
        for name, table in source.test.items()
    }
    if not validation and recipe.wants_evaluation:
        train, validation = _make_validation(train, test, source, recipe, reader)
    _warn_of_overlap(train, validation, reader)
    _check_sizes(train, recipe)
    return Dataset(
        source.name,
        source.task,
        columns,
        reader.labels,
        train,
        validation,
        test,
        reader.notes,
        reader.warnings,
    )


class _Reader:
    """Reads split after split; the first one fixes the classes for the rest."""

    def __init__(self, task: Task, columns: Columns, recipe: Recipe):
        self.task, self.columns, self.recipe = task, columns, recipe
        self.labels = Labels(task.classes, task.regression)
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def read(self, table: Table, split: str, labels_optional: bool = False) -> Examples:
        self.notes += table.notes
        texts = [_text_cells(table, name, self.recipe) for name in self.columns.text]
        labels = self._label_cells(table, labels_optional)
        good = self._good_rows(table, texts, labels)
        rows = [place + 1 for place in good]
        kept_labels = None if labels is None else [labels[place] for place in good]
        if not self.task.regression and not self.labels.names and kept_labels is not None:
            self.labels = find_classes(kept_labels, table.origin, self.columns.label)
            for group in look_alikes(self.labels.names):
                self.warnings.append(f"{table.origin}: the classes {' and '.join(group)} differ only in case.")
        numbers = None if kept_labels is None else self._encode(kept_labels, rows, table, split)
        first, *second = [[str(cells[place]) for place in good] for cells in texts]
        return Examples(first, second[0] if second else None, numbers, rows, table.origin)

    def _label_cells(self, table: Table, optional: bool) -> list[Any] | None:
        """Labels as words (or numbers), None in each row that has none; None when a test split has no labels."""
        name = self.columns.label
        if name not in table.columns:
            if optional:
                return None
            raise PippinError(
                f"{table.origin} has no column {name!r}, which holds the label in training; "
                f"it has {', '.join(table.columns)}."
            )
        cells = table.columns[name]
        class_names = table.class_names.get(name)
        if class_names:
            cells = [
                class_names[cell] if isinstance(cell, int) and 0 <= cell < len(class_names) else cell for cell in cells
            ]
        convert = label_number if self.task.regression else label_word
        words = [convert(cell) for cell in cells]
        # On the Hub, -1 throughout a test split means that its labels are kept secret.
        if optional and all(word in (None, "-1", -1.0) for word in words):
            return None
        stray = sum(isinstance(cell, str) and cell != cell.strip() and bool(cell.strip()) for cell in cells)
        if stray and not self.task.regression:
            self.notes.append(f"{table.origin}: {stray} labels had spaces around them, which were taken off.")
        return words

    def _good_rows(self, table: Table, texts: list[list[Any]], labels: list[Any] | None) -> list[int]:
        problems: dict[int, str] = {}
        for name, cells in zip(self.columns.text, texts, strict=True):
            for place, cell in enumerate(cells):
                if cell is None or not str(cell).strip():
                    problems.setdefault(place, f"column {name!r} is empty")
                elif "\x00" in str(cell):
                    problems.setdefault(place, f"column {name!r} holds a NUL byte")
        for place, label in enumerate(labels or []):
            if label is None:
                wanted = "a number" if self.task.regression else "a label"
                found = table.columns[self.columns.label][place]
                what = (
                    f"holds {found!r}, not {wanted}" if found not in (None, "") and self.task.regression else "is empty"
                )
                problems.setdefault(place, f"column {self.columns.label!r} {what}")
        if problems and not self.recipe.skip_bad_rows:
            shown = "; ".join(f"row {place + 1}: {problems[place]}" for place in sorted(problems)[:5])
            more = f"; and {len(problems) - 5} rows more" if len(problems) > 5 else ""
            raise PippinError(f"{table.origin}, {shown}{more}. Mend them, or add --skip_bad_rows to leave them out.")
        if problems:
            self.notes.append(f"{table.origin}: {len(problems)} of {len(table)} rows left out (no text or no label).")
        good = [place for place in range(len(table)) if place not in problems]
        if not good:
            raise PippinError(f"{table.origin}: no row is left after leaving out the bad ones.")
        return good

    def _encode(self, cells: list[Any], rows: list[int], table: Table, split: str) -> np.ndarray:
        if self.task.regression:
            return np.array(cells, dtype=np.float32)
        numbers = {name: number for number, name in enumerate(self.labels.names)}
        if self.task.classes:  # known tasks carry the class's number in some files and its name in others
            numbers |= {str(number): number for number in range(len(self.labels.names))}
        for cell, row in zip(cells, rows, strict=True):
            if cell not in numbers:
                known = ", ".join(self.labels.names[:10]) + (" …" if len(self.labels.names) > 10 else "")
                raise PippinError(
                    f"{table.origin}, row {row}, column {self.columns.label!r}: the label {cell!r} of the {split} rows "
                    f"does not occur in training, which has {known}. Correct it, or add training rows of that class."
                )
        return np.array([numbers[cell] for cell in cells], dtype=np.int64)


def _text_cells(table: Table, name: str, recipe: Recipe) -> list[Any]:
    if name not in table.columns:
        raise PippinError(
            f"{table.origin} has no column {name!r}, which holds the text in training; it has {', '.join(table.columns)}."
        )
    # A text of megabytes would keep the tokenizer busy for minutes, only to be cut. No token is this long on average.
    most = 1000 * recipe.max_seq_length
    return [cell[:most] if isinstance(cell, str) else cell for cell in table.columns[name]]


def _make_validation(
    train: Examples | None, test: dict[str, Examples], source: Source, recipe: Recipe, reader: _Reader
) -> tuple[Examples | None, dict[str, Examples]]:
    """A validation set where none is given: the test set for a classic command on a task without one, else a part."""
    labelled_tests = {name: examples for name, examples in test.items() if examples.labels is not None}
    if recipe.is_classic and source.task.name and labelled_tests:
        reader.notes.append(f"{source.task.name} has no validation set: evaluation is on its test set.")
        return train, {"validation": next(iter(labelled_tests.values()))}
    share = 0.1 if recipe.validation_split is None else recipe.validation_split
    if train is None or not recipe.wants_training or share == 0:
        return train, {}
    if len(train) < _FEWEST_ROWS:
        raise PippinError(
            f"{train.origin} has {len(train)} rows: too few to hold some out for validation. "
            f"Give at least {_FEWEST_ROWS} rows, or a --validation_file, or --validation_split 0."
        )
    kept, held = hold_out(train, share, recipe.order_seed, stratify=not source.task.regression)
    kind = "at random" if source.task.regression else "stratified by class"
    reader.notes.append(f"{len(held)} of {len(train)} training rows are held out for validation, {kind}.")
    return train.take(kept), {"validation": train.take(held)}


def _warn_of_overlap(train: Examples | None, validation: dict[str, Examples], reader: _Reader) -> None:
    if train is None:
        return
    seen = set(zip(train.texts, train.pairs or [""] * len(train), strict=True))
    for name, examples in validation.items():
        shared = sum(pair in seen for pair in zip(examples.texts, examples.pairs or [""] * len(examples), strict=True))
        if shared == len(examples) and examples.origin != train.origin:
            raise PippinError(
                f"{examples.origin}: all {shared} rows stand in {train.origin} too, so a score on them says nothing. "
                "Give other rows, or leave --validation_file out and Pippin holds some out."
            )
        if shared and shared == len(examples):
            reader.warnings.append(f"All {shared} {name} texts stand in the training rows too: the score says nothing.")
        elif shared:
            reader.warnings.append(
                f"{shared} of {len(examples)} {name} texts stand in the training rows too: the score will flatter."
            )


def _check_sizes(train: Examples | None, recipe: Recipe) -> None:
    if recipe.wants_training and train is None:
        raise PippinError("there are no training rows: name a FILE, --train_file or --task_name.")
