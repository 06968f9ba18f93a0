"""Which task a recipe asks for: by name, by the model that is used as it is, or by what the rows hold."""

from __future__ import annotations

from pippin.errors import PippinError, nearest
from pippin.recipe import Recipe
from pippin.recipe.data_fields import TAGGING_TASKS
from pippin.tasks.base import Task
from pippin.tasks.language.columns import is_language
from pippin.tasks.language.task import LanguageTask
from pippin.tasks.rows import Splits, own_rows
from pippin.tasks.sequence.known import TASKS, find_known
from pippin.tasks.sequence.task import SequenceTask
from pippin.tasks.tokens.columns import is_tagged
from pippin.tasks.tokens.task import TokensTask

_REGISTERED: dict[str, Task] = {}
#: By the Hub's word for what their models do.
KINDS: dict[str, Task] = {task.pipeline: task for task in (SequenceTask(), TokensTask(), LanguageTask())}


def register(task: Task) -> None:
    """Make a task known under its name, for --task_name."""
    assert task.name
    _REGISTERED[task.name] = task


def check_task_name(name: str) -> None:
    """Refuse a name that no task has."""
    if name not in _REGISTERED and name.lower() not in TAGGING_TASKS and find_known(name) is None:
        known = [*TASKS, *TAGGING_TASKS]
        raise PippinError(
            f"--task_name {name}: there is no such task. Known: {', '.join(known)}.{nearest(name.lower(), known)}"
        )


def find_task(recipe: Recipe, head: str | None = None) -> tuple[Task, Splits | None]:
    """The task, and the user's own rows where it took a look at them.

    ``head`` is the class of transformers that loads the model, where that is used as it is.
    """
    if named := task_by_name(recipe.task_name):
        if recipe.task not in (None, named.pipeline):
            raise PippinError(f"--task_name {recipe.task_name} is {named.pipeline}, not --task {recipe.task}.")
        return named, None
    rows = own_rows(recipe, lines_are_texts=recipe.task == LanguageTask.pipeline)
    if recipe.task:
        return KINDS[recipe.task], rows
    if head is not None:
        return task_by_head(head), rows
    first = rows and next(iter([*filter(None, [rows.train]), *rows.validation.values(), *rows.test.values()]), None)
    if first and is_tagged(first, recipe):
        return TokensTask(), rows
    return LanguageTask() if first and is_language(first, recipe) else SequenceTask(), rows


def task_by_name(name: str | None) -> Task | None:
    if not name:
        return None
    check_task_name(name)
    if name.lower() in TAGGING_TASKS:
        return TokensTask(name.lower())
    return _REGISTERED.get(name) or SequenceTask()


def task_by_head(head: str | None) -> Task:
    """The task of a model that transformers loads with this class; that of texts where it is none of ours."""
    return next((task for task in KINDS.values() if task.auto_model == head), SequenceTask())
