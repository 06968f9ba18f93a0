"""From a Recipe to raw rows: a file, a folder, a known task, the Hub, or the built-in questions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path

from pippin.data.folders import read_split_folder
from pippin.data.hub import task_from_hub
from pippin.data.tables import Table, read_table
from pippin.errors import PippinError
from pippin.recipe import Recipe
from pippin.tasks.rows import Splits, by_split, own_rows, with_files
from pippin.tasks.sequence.glue_files import LAYOUTS, glue_folder, read_glue_split
from pippin.tasks.sequence.known import OWN_CLASSES, OWN_NUMBERS, known_task
from pippin.tasks.sequence.task import SequenceTask
from pippin.tasks.sequence.trec_files import TEST_FILE, TRAIN_FILE, read_trec_file, trec_folder


@dataclass(frozen=True)
class Source(Splits):
    """Raw rows by split, and the task that they are for."""

    task: SequenceTask = field(kw_only=True)


def find_source(recipe: Recipe, rows: Splits | None = None) -> Source:
    """The rows that a recipe asks for. ``rows`` are the user's own, where they were read already."""
    return with_files(_main_source(recipe, rows), recipe, ("test",))


def _main_source(recipe: Recipe, rows: Splits | None) -> Source:
    if recipe.task_name:
        return _task_source(recipe, known_task(recipe.task_name))
    own = OWN_NUMBERS if recipe.do_regression else OWN_CLASSES
    return _for_task(rows or own_rows(recipe) or by_split("questions", _builtin_questions()), own)


def _for_task(splits: Splits, task: SequenceTask) -> Source:
    return Source(splits.name, splits.train, splits.validation, splits.test, splits.notes, task=task)


def _task_source(recipe: Recipe, task: SequenceTask) -> Source:
    if recipe.do_regression and not task.regression:
        raise PippinError(f"--do_regression: {task.name} has classes, not numbers. Leave it out.")
    if recipe.fine_labels:
        task = replace(task, label_column="fine_label", classes=())
    if recipe.data_dir is None:
        tables = task_from_hub(str(task.name), recipe.cache_dir, recipe.token)
        return _for_task(by_split(str(task.name), tables), task)
    data_dir = Path(recipe.data_dir)
    if not data_dir.is_dir():
        raise PippinError(f"--data_dir {data_dir}: there is no such folder.")
    if task.name == "trec":
        folder = trec_folder(data_dir)
        if folder:
            return _trec_source(folder, task)
    else:
        folder = glue_folder(data_dir, task)
        if folder:
            return _glue_source(folder, task)
    named = data_dir / str(task.name)
    folder = named if named.is_dir() else data_dir
    # Below a folder of many GLUE tasks, the only one that is there need not be the one that is asked for.
    tables = read_split_folder(folder, recipe.encoding, look_inside=task.name == "trec")
    return _for_task(by_split(str(task.name), tables), task)


def _glue_source(folder: Path, task: SequenceTask) -> Source:
    layout = LAYOUTS[str(task.name)]

    def read(splits: tuple[tuple[str, str], ...], required: bool) -> dict[str, Table]:
        tables = {name: read_glue_split(folder, task, file, required) for name, file in splits}
        return {name: table for name, table in tables.items() if table is not None}

    train = read_glue_split(folder, task, "train")
    return Source(str(task.name), train, read(layout.validations, True), read(layout.tests, False), task=task)


def _trec_source(folder: Path, task: SequenceTask) -> Source:
    test = {"test": read_trec_file(folder / TEST_FILE)} if (folder / TEST_FILE).exists() else {}
    return Source("trec", read_trec_file(folder / TRAIN_FILE), {}, test, task=task)


def _builtin_questions() -> dict[str, Table]:
    folder = files("pippin.data") / "questions"
    return {split: read_table(Path(str(folder / f"{split}.csv"))) for split in ("train", "validation", "test")}
