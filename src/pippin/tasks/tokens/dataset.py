"""The user's rows of words and tags, checked, as a Dataset."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pippin.errors import PippinError
from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.base import Dataset
from pippin.tasks.class_weights import class_weights, weights_in_words
from pippin.tasks.rows import Splits, own_rows, with_files
from pippin.tasks.splits import read_splits
from pippin.tasks.tokens.columns import find_tag_columns
from pippin.tasks.tokens.reader import TagReader

if TYPE_CHECKING:
    from pippin.tasks.tokens.task import TokensTask

_PREDICT = "To tag rows with a trained model: pippin predict RUN --file FILE."


def prepare(task: TokensTask, recipe: Recipe, known: Labels | None, rows: Splits | None) -> Dataset:
    """All rows that the job reads. ``known`` are the tags of a model that is used as it is."""
    rows = rows or own_rows(recipe, recipe.data_dir)
    if rows is None:
        raise PippinError(f"--task_name {task.name} names no rows. Add a FILE, --train_file, or --dataset_name.")
    source = with_files(rows, recipe)
    if known is not None:
        source = replace(source, train=None)
    first = source.first(recipe)
    columns = find_tag_columns(first, recipe, task.name, needs_tags=bool(source.train or source.validation))
    source = source.only({*columns.text, columns.label})
    reader = TagReader(columns, recipe, known)
    reader.look(source.train, [*source.validation.values(), *source.test.values()])
    if not reader.labels.names:
        raise PippinError(f"{first.origin}: no word has a tag, so the tags are not known. {_PREDICT}")
    found = read_splits(source, recipe, reader)
    task = replace(task.with_labels(reader.labels), label_smoothing=recipe.label_smoothing_factor)
    if recipe.class_weights and found.train is not None and found.train.labels is not None:
        names = task.labels.names
        weights = class_weights(recipe.class_weights, names, np.concatenate(list(found.train.labels)))
        reader.notes.append(f"weights of the tags in the loss: {weights_in_words(weights, names)}.")
        task = replace(task, class_weights=weights)
    return Dataset(source.name, task, columns, found.train, found.validation, found.test, reader.notes, reader.warnings)
