"""From a Recipe to raw rows: a file, a folder, a known task, the Hub, or the built-in questions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from pippin.data.folders import read_split_folder
from pippin.data.hub import dataset_from_hub, task_from_hub
from pippin.data.kinds import stem_of
from pippin.data.tables import Header, Table, header_of, read_table
from pippin.errors import PippinError
from pippin.recipe import Recipe
from pippin.tasks.sequence.glue_files import LAYOUTS, glue_folder, read_glue_split
from pippin.tasks.sequence.known import OWN_CLASSES, OWN_NUMBERS, known_task
from pippin.tasks.sequence.task import SequenceTask
from pippin.tasks.sequence.trec_files import TEST_FILE, TRAIN_FILE, read_trec_file, trec_folder


@dataclass(frozen=True)
class Source:
    """Raw rows by split, not yet checked."""

    name: str
    task: SequenceTask
    train: Table | None
    validation: dict[str, Table]
    """By name: `validation`, or MNLI's `validation_matched` and `validation_mismatched`."""
    test: dict[str, Table]
    notes: tuple[str, ...] = ()


def find_source(recipe: Recipe) -> Source:
    """Read the rows that a recipe asks for."""
    return _with_files(_main_source(recipe), recipe)


def _main_source(recipe: Recipe) -> Source:
    own = OWN_NUMBERS if recipe.do_regression else OWN_CLASSES
    if recipe.task_name:
        return _task_source(recipe, known_task(recipe.task_name))
    if recipe.dataset_name:
        splits = dataset_from_hub(recipe.dataset_name, recipe.dataset_config_name, recipe.cache_dir, recipe.token)
        return _from_splits(recipe.dataset_name.rstrip("/").rsplit("/", 1)[-1], own, splits)
    if recipe.data and Path(recipe.data).is_dir():
        splits = read_split_folder(Path(recipe.data), recipe.encoding, header=_header(recipe))
        return _from_splits(Path(recipe.data).resolve().name, own, splits)
    main_file = recipe.data or recipe.train_file
    if main_file or recipe.validation_file or recipe.test_file:
        train = read_table(Path(main_file), recipe.encoding, header=_header(recipe)) if main_file else None
        name = stem_of(Path(main_file or recipe.validation_file or str(recipe.test_file)))
        return Source(name, own, train, {}, {})
    return _from_splits("questions", own, _builtin_questions())


def _task_source(recipe: Recipe, task: SequenceTask) -> Source:
    if recipe.do_regression and not task.regression:
        raise PippinError(f"--do_regression: {task.name} has classes, not numbers. Leave it out.")
    if recipe.fine_labels:
        task = replace(task, label_column="fine_label", classes=())
    if recipe.data_dir is None:
        return _from_splits(str(task.name), task, task_from_hub(str(task.name), recipe.cache_dir, recipe.token))
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
    return _from_splits(
        str(task.name), task, read_split_folder(folder, recipe.encoding, look_inside=task.name == "trec")
    )


def _glue_source(folder: Path, task: SequenceTask) -> Source:
    layout = LAYOUTS[str(task.name)]

    def read(splits: tuple[tuple[str, str], ...], required: bool) -> dict[str, Table]:
        tables = {name: read_glue_split(folder, task, file, required) for name, file in splits}
        return {name: table for name, table in tables.items() if table is not None}

    train = read_glue_split(folder, task, "train")
    return Source(str(task.name), task, train, read(layout.validations, True), read(layout.tests, False))


def _trec_source(folder: Path, task: SequenceTask) -> Source:
    test = {"test": read_trec_file(folder / TEST_FILE)} if (folder / TEST_FILE).exists() else {}
    return Source("trec", task, read_trec_file(folder / TRAIN_FILE), {}, test)


def _from_splits(name: str, task: SequenceTask, splits: dict[str, Table]) -> Source:
    if "train" not in splits:
        raise PippinError(f"{name} has no training rows, only: {', '.join(splits)}.")
    validation = {split: table for split, table in splits.items() if split.startswith("validation")}
    test = {split: table for split, table in splits.items() if split.startswith("test")}
    unused = [split for split in splits if split not in ("train", *validation, *test)]
    notes = (f"{name}: not used: the split {', '.join(unused)}.",) if unused else ()
    return Source(name, task, splits["train"], validation, test, notes)


def _with_files(source: Source, recipe: Recipe) -> Source:
    """The source with --validation_file and --test_file in place of its own splits."""
    validation, test, header = source.validation, source.test, _header(recipe)
    if recipe.validation_file:
        validation = {"validation": read_table(Path(recipe.validation_file), recipe.encoding, header=header)}
    if recipe.test_file:
        test = {"test": read_table(Path(recipe.test_file), recipe.encoding, lines_are_texts=True, header=header)}
    return replace(source, validation=validation, test=test)


def _header(recipe: Recipe) -> Header:
    return header_of(recipe.column_names, recipe.no_header)


def _builtin_questions() -> dict[str, Table]:
    folder = files("pippin.data") / "questions"
    return {split: read_table(Path(str(folder / f"{split}.csv"))) for split in ("train", "validation", "test")}
