"""The user's chats or texts, checked, as a Dataset."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pippin.errors import PippinError
from pippin.recipe import Recipe
from pippin.tasks.base import Columns, Dataset
from pippin.tasks.language.columns import find_form
from pippin.tasks.language.reader import TextReader
from pippin.tasks.language.templates import read_template
from pippin.tasks.rows import Splits, own_rows, with_files
from pippin.tasks.splits import read_splits

if TYPE_CHECKING:
    from pippin.tasks.language.task import LanguageTask


def prepare(task: LanguageTask, recipe: Recipe, rows: Splits | None, is_used_as_it_is: bool = False) -> Dataset:
    """All rows that the job reads. A model that ``is_used_as_it_is`` needs no training rows."""
    rows = rows or own_rows(recipe, recipe.data_dir, lines_are_texts=True)
    if rows is None:
        raise PippinError("--task text-generation names no rows. Add a FILE, --train_file, or --dataset_name.")
    source = with_files(rows, recipe, ("validation", "test"))
    if is_used_as_it_is:
        source = replace(source, train=None)
    form = find_form(source.first(recipe), recipe)
    source = source.only(form.every)
    reader = TextReader(form, recipe)
    found = read_splits(source, recipe, reader)
    learn = recipe.learn or ("all" if form.kind == "text" else "answers")
    if form.kind == "text" and learn != "all":
        raise PippinError(
            f"--learn {learn} is for chats and prompts with answers, and these rows are texts. Leave it out."
        )
    template = read_template(recipe.chat_template) if recipe.chat_template else ""
    task = replace(
        task, learn=learn, chats=form.kind != "text", template=template, label_smoothing=recipe.label_smoothing_factor
    )
    reader.notes.append(f"{_LEARNT[learn if form.kind != 'text' else 'text']}.")
    columns = Columns(form.columns, "", form.words(), label_is_certain=True)
    return Dataset(source.name, task, columns, found.train, found.validation, found.test, reader.notes, reader.warnings)


_LEARNT = {
    "text": "learnt: every word of the texts",
    "all": "learnt: the whole chats, prompts included",
    "answers": "learnt: the assistant's answers alone. For all of the text: --learn all",
    "last": "learnt: the last answer of each chat alone",
}
