"""Raw rows by split into checked examples: which are read, how many, and what is held out for validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pippin.data.examples import Examples
from pippin.data.tables import Table
from pippin.errors import PippinError
from pippin.recipe import Recipe
from pippin.tasks.overlap import check_overlap
from pippin.tasks.rows import Splits
from pippin.tasks.split import hold_out

#: Fewest rows from which a validation part can be cut.
_FEWEST_ROWS = 10


class SplitReader(Protocol):
    """Reads split after split of one task; the training rows come first."""

    notes: list[str]
    warnings: list[str]

    @property
    def split_at(self) -> str:
        """How rows are held out, in words."""

    def read(self, table: Table, split: str, labels_optional: bool = False) -> Examples:
        """The rows of a split as examples; without labels where these are optional and there are none."""

    def strata(self, examples: Examples) -> np.ndarray | None:
        """A class for each row, of which each is to be in both parts when some are held out."""

    def single_rows(self, examples: Examples) -> str:
        """Where, and what is wrong with rows of which none can be held out."""


@dataclass(frozen=True)
class Checked:
    train: Examples | None
    validation: dict[str, Examples]
    test: dict[str, Examples]


def read_splits(source: Splits, recipe: Recipe, reader: SplitReader, known_task: str | None = None) -> Checked:
    """All rows that the job reads, checked. ``known_task``: of a known task, whose own splits stay as they are."""
    reader.notes += source.notes
    train = None
    if source.train is not None:
        train = _read_some(source.train, recipe.max_train_samples, "training", recipe, reader)
    validation = {
        name: _read_some(table, recipe.max_eval_samples, name, recipe, reader)
        for name, table in source.validation.items()
    }
    reads_test = recipe.wants_prediction or (recipe.wants_evaluation and not validation)
    test = {
        name: reader.read(table.head(recipe.max_predict_samples), name, labels_optional=True)
        for name, table in source.test.items()
        if reads_test
    }
    labelled_tests = {name: examples for name, examples in test.items() if examples.labels is not None}
    if train is not None:
        reader.warnings += check_overlap(train, validation, may_stop=True)
        reader.warnings += check_overlap(train, labelled_tests, may_stop=False)
    if validation and recipe.validation_split:
        reader.notes.append("--validation_split has no effect: there are validation rows already.")
    if not validation and recipe.wants_evaluation:
        train, validation = _make_validation(train, labelled_tests, known_task, recipe, reader)
    return Checked(train, validation, test)


def _read_some(table: Table, most: int | None, split: str, recipe: Recipe, reader: SplitReader) -> Examples:
    """All rows of a split, or so many of them, drawn at random: files are often sorted."""
    if most is None or most >= len(table) or recipe.first_rows or recipe.is_classic:
        return reader.read(table.head(most), split)
    examples = reader.read(table, split)
    drawn = np.random.default_rng(recipe.order_seed).permutation(len(examples))[:most]
    reader.notes.append(
        f"{len(drawn)} of {len(examples)} {split} rows are used, drawn at random. To use the first ones: --first_rows"
    )
    return examples.take(np.sort(drawn))


def _make_validation(
    train: Examples | None,
    labelled_tests: dict[str, Examples],
    known_task: str | None,
    recipe: Recipe,
    reader: SplitReader,
) -> tuple[Examples | None, dict[str, Examples]]:
    """A validation set where none is given: the test set for a classic command on a task without one, else a part."""
    if recipe.is_classic and known_task and labelled_tests:
        reader.notes.append(f"{known_task} has no validation set: evaluation is on its test set.")
        return train, {"validation": next(iter(labelled_tests.values()))}
    share = 0.1 if recipe.validation_split is None else recipe.validation_split
    if train is None or not recipe.wants_training or share == 0:
        return train, {}
    if len(train) < _FEWEST_ROWS:
        raise PippinError(
            f"{train.origin} has {len(train)} rows: too few to hold some out for validation. "
            f"Give at least {_FEWEST_ROWS} rows, or a --validation_file, or --validation_split 0."
        )
    kept, held = hold_out(train, share, recipe.order_seed, reader.strata(train))
    if not len(held):
        raise PippinError(
            f"{train.origin}{reader.single_rows(train)}, so none can be held out "
            "for validation. Add rows, or give a --validation_file, or --validation_split 0."
        )
    reader.notes.append(f"{len(held)} of {len(train)} training rows are held out for validation, {reader.split_at}.")
    held_out = {"validation": train.take(held)}
    reader.warnings += check_overlap(train.take(kept), held_out, may_stop=False)
    return train.take(kept), held_out
