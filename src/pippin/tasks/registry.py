"""Which task a recipe asks for."""

from __future__ import annotations

from pippin.recipe import Recipe
from pippin.tasks.base import Task
from pippin.tasks.sequence.known import known_task
from pippin.tasks.sequence.task import SequenceTask

_REGISTERED: dict[str, Task] = {}


def register(task: Task) -> None:
    """Make a task known under its name, for --task_name."""
    assert task.name
    _REGISTERED[task.name] = task


def check_task_name(name: str) -> None:
    """Refuse a name that no task has."""
    if name not in _REGISTERED:
        known_task(name)


def task_for(recipe: Recipe) -> Task:
    """The task that is named, else the one for texts that have one label each."""
    return _REGISTERED.get(recipe.task_name or "") or SequenceTask()
