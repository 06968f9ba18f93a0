"""The user's own rows by split, for any task: a file, a folder, or a data set of the Hub. Not yet checked."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pippin.data.folders import read_split_folder
from pippin.data.hub import dataset_from_hub
from pippin.data.kinds import stem_of
from pippin.data.tables import Header, Table, header_of, read_table
from pippin.errors import PippinError
from pippin.recipe import Recipe

S = TypeVar("S", bound="Splits")


@dataclass(frozen=True)
class Splits:
    """Raw rows by split."""

    name: str
    train: Table | None
    validation: dict[str, Table]
    """By name: `validation`, or MNLI's `validation_matched` and `validation_mismatched`."""
    test: dict[str, Table]
    notes: tuple[str, ...] = ()

    def first(self, recipe: Recipe) -> Table:
        """The split that tells what the columns are. Refused where rows are missing that the recipe needs."""
        if recipe.wants_training and self.train is None:
            raise PippinError("there are no training rows: name a FILE, --train_file or --task_name.")
        found = next(iter([*filter(None, [self.train]), *self.validation.values(), *self.test.values()]), None)
        if found is None:
            raise PippinError(
                "there are no rows to evaluate or predict: name them with --validation_file or --test_file."
            )
        return found

    def only(self: S, names: Collection[str]) -> S:
        """With the columns that are used, so that the others take up no room."""

        def slim(table: Table) -> Table:
            return table.only(names) if set(names) <= table.columns.keys() else table  # what is missing is told later

        return replace(
            self,
            train=None if self.train is None else slim(self.train),
            validation={name: slim(table) for name, table in self.validation.items()},
            test={name: slim(table) for name, table in self.test.items()},
        )


def own_rows(recipe: Recipe, folder: str | None = None, lines_are_texts: bool = False) -> Splits | None:
    """What the recipe names, or what is in a folder; None where it names no rows at all."""
    folder = folder or (recipe.data if recipe.data and Path(recipe.data).is_dir() else None)
    if recipe.dataset_name:
        tables = dataset_from_hub(recipe.dataset_name, recipe.dataset_config_name, recipe.cache_dir, recipe.token)
        return by_split(recipe.dataset_name.rstrip("/").rsplit("/", 1)[-1], tables)
    if folder:
        tables = read_split_folder(Path(folder), recipe.encoding, header=_header(recipe))
        return by_split(Path(folder).resolve().name, tables)
    main_file = recipe.data or recipe.train_file
    if main_file or recipe.validation_file or recipe.test_file:
        train = read_table(Path(main_file), recipe.encoding, lines_are_texts, _header(recipe)) if main_file else None
        return Splits(stem_of(Path(main_file or recipe.validation_file or str(recipe.test_file))), train, {}, {})
    return None


def by_split(name: str, tables: dict[str, Table]) -> Splits:
    if "train" not in tables:
        raise PippinError(f"{name} has no training rows, only: {', '.join(tables)}.")
    validation = {split: table for split, table in tables.items() if split.startswith("validation")}
    test = {split: table for split, table in tables.items() if split.startswith("test")}
    unused = [split for split in tables if split not in ("train", *validation, *test)]
    notes = (f"{name}: not used: the split {', '.join(unused)}.",) if unused else ()
    return Splits(name, tables["train"], validation, test, notes)


def with_files(splits: S, recipe: Recipe, texts_alone: Collection[str] = ()) -> S:
    """The same with --validation_file and --test_file in place of their own splits.

    ``texts_alone``: the splits of which a .txt file may hold texts without labels.
    """
    validation, test, header = splits.validation, splits.test, _header(recipe)
    if recipe.validation_file:
        alone = "validation" in texts_alone
        validation = {"validation": read_table(Path(recipe.validation_file), recipe.encoding, alone, header)}
    if recipe.test_file:
        test = {"test": read_table(Path(recipe.test_file), recipe.encoding, "test" in texts_alone, header)}
    return replace(splits, validation=validation, test=test)


def _header(recipe: Recipe) -> Header:
    return header_of(recipe.column_names, recipe.no_header)
