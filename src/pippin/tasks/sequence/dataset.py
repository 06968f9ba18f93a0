"""Raw rows into checked examples. All that is wrong with the data is found here, before any model is loaded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pippin.data.examples import Examples
from pippin.data.tables import Table
from pippin.errors import PippinError
from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.base import Dataset
from pippin.tasks.sequence.class_weights import class_weights, inequality, weights_in_words
from pippin.tasks.sequence.columns import find_columns
from pippin.tasks.sequence.known import OWN_NUMBERS
from pippin.tasks.sequence.overlap import check_overlap
from pippin.tasks.sequence.reader import Reader
from pippin.tasks.sequence.sources import Source
from pippin.tasks.sequence.split import hold_out
from pippin.tasks.sequence.task import SequenceTask

if TYPE_CHECKING:
    import numpy as np

#: Fewest rows from which a validation part can be cut.
_FEWEST_ROWS = 10
_PREDICT = "To label rows with a trained model: pippin predict RUN --file FILE."


def prepare(source: Source, recipe: Recipe, known: Labels | None = None) -> Dataset:
    """Check the rows of a source and turn them into examples, or stop with file, row and column.

    ``known`` are the classes of a model that is used as it is; otherwise the training rows say what the classes are.
    """
    if recipe.wants_training and source.train is None:
        raise PippinError("there are no training rows: name a FILE, --train_file or --task_name.")
    if known is not None:
        source = _for_model(source, known)
    first = next(iter([*filter(None, [source.train]), *source.validation.values(), *source.test.values()]), None)
    if first is None:
        raise PippinError("there are no rows to evaluate or predict: name them with --validation_file or --test_file.")
    needs_label = bool(source.train or source.validation)
    columns = find_columns(first, recipe, source.task, needs_label)
    origin = first.origin
    del first
    source = _with_columns(source, {*columns.text, columns.label})
    reader = Reader(source.task, columns, recipe)
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
    if not reader.labels.outputs:
        raise PippinError(f"{origin}: no row has a label, so the classes are not known. {_PREDICT}")
    labelled_tests = {name: examples for name, examples in test.items() if examples.labels is not None}
    if train is not None:
        reader.warnings += check_overlap(train, validation, may_stop=True)
        reader.warnings += check_overlap(train, labelled_tests, may_stop=False)
    if validation and recipe.validation_split:
        reader.notes.append("--validation_split has no effect: there are validation rows already.")
    if not validation and recipe.wants_evaluation:
        train, validation = _make_validation(train, labelled_tests, source, recipe, reader)
    task = replace(source.task, labels=reader.labels, label_smoothing=recipe.label_smoothing_factor)
    if train is not None and train.labels is not None and not task.regression:
        task = _for_unequal_classes(task, train.labels, recipe, reader)
    return Dataset(
        source.name,
        task,
        columns,
        train,
        validation,
        test,
        reader.notes,
        reader.warnings,
    )


def _read_some(table: Table, most: int | None, split: str, recipe: Recipe, reader: Reader) -> Examples:
    """All rows of a split, or so many of them, drawn at random: files are often sorted."""
    if most is None or most >= len(table) or recipe.first_rows or recipe.is_classic:
        return reader.read(table.head(most), split)
    import numpy as np

    examples = reader.read(table, split)
    drawn = np.random.default_rng(recipe.order_seed).permutation(len(examples))[:most]
    reader.notes.append(
        f"{len(drawn)} of {len(examples)} {split} rows are used, drawn at random. To use the first ones: --first_rows"
    )
    return examples.take(np.sort(drawn))


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


def _with_columns(source: Source, names: set[str]) -> Source:
    """The source with the columns that are used, so that the others take up no room."""

    def slim(table: Table) -> Table:
        return table.only(names) if names <= table.columns.keys() else table  # what is missing is told with the others

    return replace(
        source,
        train=None if source.train is None else slim(source.train),
        validation={name: slim(table) for name, table in source.validation.items()},
        test={name: slim(table) for name, table in source.test.items()},
    )


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


def _make_validation(
    train: Examples | None, labelled_tests: dict[str, Examples], source: Source, recipe: Recipe, reader: Reader
) -> tuple[Examples | None, dict[str, Examples]]:
    """A validation set where none is given: the test set for a classic command on a task without one, else a part."""
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
    if not len(held):
        raise PippinError(
            f"{train.origin}, column {reader.columns.label!r}: each class has a single row, so none can be held out "
            "for validation. Add rows, or give a --validation_file, or --validation_split 0."
        )
    kind = "at random" if source.task.regression else "stratified by class"
    reader.notes.append(f"{len(held)} of {len(train)} training rows are held out for validation, {kind}.")
    held_out = {"validation": train.take(held)}
    reader.warnings += check_overlap(train.take(kept), held_out, may_stop=False)
    return train.take(kept), held_out
