"""Raw rows into checked examples. All that is wrong with the data is found here, before any model is loaded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pippin.errors import PippinError
from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.base import Dataset
from pippin.tasks.class_weights import class_weights, inequality, weights_in_words
from pippin.tasks.sequence.columns import find_columns
from pippin.tasks.sequence.known import OWN_NUMBERS
from pippin.tasks.sequence.reader import Reader
from pippin.tasks.sequence.several.reader import SeveralReader
from pippin.tasks.sequence.several.writing import find_writing
from pippin.tasks.sequence.sources import Source
from pippin.tasks.sequence.task import SequenceTask
from pippin.tasks.splits import read_splits

if TYPE_CHECKING:
    import numpy as np

_PREDICT = "To label rows with a trained model: pippin predict RUN --file FILE."


def prepare(source: Source, recipe: Recipe, known: Labels | None = None) -> Dataset:
    """Check the rows of a source and turn them into examples, or stop with file, row and column.

    ``known`` are the classes of a model that is used as it is; otherwise the training rows say what the classes are.
    """
    if known is not None:
        source = _for_model(source, known)
    first = source.first(recipe)
    needs_label = bool(source.train or source.validation)
    columns = find_columns(first, recipe, source.task, needs_label, known)
    writing = find_writing(first, columns, recipe, known) if _may_be_several(source.task) else None
    origin = first.origin
    del first
    source = source.only({*columns.text, *(columns.flags or (columns.label,))})
    reader = SeveralReader(source.task, columns, recipe, writing) if writing else Reader(source.task, columns, recipe)
    found = read_splits(source, recipe, reader, source.task.name)
    if not reader.labels.outputs:
        raise PippinError(f"{origin}: no row has a label, so the classes are not known. {_PREDICT}")
    task, train = reader.task_found(), found.train
    if train is not None and train.labels is not None and not task.regression and not task.labels.several:
        task = _for_unequal_classes(task, train.labels, recipe, reader)
    return Dataset(source.name, task, columns, train, found.validation, found.test, reader.notes, reader.warnings)


def _may_be_several(task: SequenceTask) -> bool:
    """Known tasks have one label a row, and numbers are one a row too."""
    return task.name is None and not task.regression


def _for_unequal_classes(task: SequenceTask, numbers: np.ndarray, recipe: Recipe, reader: Reader) -> SequenceTask:
    """With the weights that were asked for, and with macro F1 first where accuracy would say little."""
    names = task.labels.names
    if recipe.class_weights:
        weights = class_weights(recipe.class_weights, names, numbers)
        reader.notes.append(f"weights of the classes in the loss: {weights_in_words(weights, names)}.")
        task = replace(task, class_weights=weights)
    unequal = inequality(names, numbers)
    if unequal and task.name is None and not recipe.is_classic:
        advice = "" if recipe.class_weights else " To make rare classes count for more, add --class_weights balanced."
        reader.notes.append(f"{unequal}. So the main metric is macro F1, in which all classes count alike.{advice}")
        task = replace(task, metrics=("f1_macro", "accuracy"))
    return task


def _for_model(source: Source, known: Labels) -> Source:
    """The source with the classes of the model, and without training rows."""
    generic = all(name.startswith("LABEL_") for name in known.names)
    own = source.task.name is None
    task = source.task
    if own and known.regression:
        task = OWN_NUMBERS
    elif own and not generic:
        task = replace(task, classes=known.names)
    return replace(source, train=None, task=task)
