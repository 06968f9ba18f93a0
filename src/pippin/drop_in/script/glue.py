"""`load_dataset("glue", TASK)` from a folder or from the Hub's cache, as `pippin train --task_name` reads it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from pippin.data.tables import Table
from pippin.drop_in.errors import NotOnThisComputer, Refusal
from pippin.drop_in.notices import say
from pippin.drop_in.script.after_import import AfterImport
from pippin.drop_in.script.reach import declared_offline, why_no_hub
from pippin.errors import PippinError
from pippin.tasks.sequence.known import TASKS
from pippin.tasks.sequence.task import SequenceTask

_NAMES = ("glue", "nyu-mll/glue")
#: Test rows are published without labels; the Hub's copy holds this instead.
_NO_LABEL = -1


def prepare_glue(imports: AfterImport, data_dir: str | None) -> None:
    """GLUE from ``data_dir`` where that is given, else from the Hub's cache where the Hub cannot be asked."""
    imports.add("datasets.load", lambda module: _load_without_hub(module, data_dir))


def _load_without_hub(module: ModuleType, data_dir: str | None) -> None:
    theirs: Callable[..., Any] = module.load_dataset

    @functools.wraps(theirs)
    def load_dataset(path: str, name: str | None = None, *arguments: Any, **named: Any) -> Any:
        is_glue = path in _NAMES and name in TASKS and name != "trec" and not Path(path).is_dir()
        plain = not arguments and not named.get("streaming") and not named.get("data_files")
        reason = why_no_hub() if is_glue and plain and data_dir is None else None
        if not (is_glue and plain) or (data_dir is None and reason is None):
            return theirs(path, name, *arguments, **named)
        if data_dir is not None:
            splits, whence = _splits(TASKS[str(name)], data_dir), f"from {data_dir}"
        else:
            with declared_offline():
                try:
                    return theirs(path, name, **named)  # from a cache that datasets made itself
                except Exception:  # it has many kinds for "not there"
                    splits = _from_hub_cache(path, TASKS[str(name)], str(reason))
            whence = f"from the Hub's cache, since {reason}"
        say(f"load_dataset({path!r}, {name!r}): {whence}.")
        return _chosen(splits, named.get("split"))

    module.load_dataset = load_dataset  # type: ignore[attr-defined]


def _from_hub_cache(path: str, task: SequenceTask, reason: str) -> Any:
    try:
        return _splits(task, None)
    except PippinError:
        raise NotOnThisComputer(
            f"load_dataset({path!r}, {task.name!r}): no copy of it is on this computer, and {reason}. Go online "
            "once, or name a folder with GLUE's files: pippin exec --data_dir FOLDER SCRIPT …"
        ) from None


def _splits(task: SequenceTask, data_dir: str | None) -> Any:
    """All splits under the Hub's names, as a DatasetDict."""
    from datasets import ClassLabel, Dataset, DatasetDict, Features, Value

    from pippin.recipe import Recipe
    from pippin.tasks.sequence.sources import find_source

    # The script's cache_dir is that of datasets; what the Hub's own client keeps lies elsewhere.
    source = find_source(Recipe(task_name=task.name, data_dir=data_dir))
    tables = {"train": source.train, **source.validation, **source.test}
    texts = dict.fromkeys(task.text_columns, Value("string"))
    label = Value("float32") if task.regression else ClassLabel(names=list(task.classes))
    features = Features({**texts, "label": label, "idx": Value("int32")})
    found = {split: table for split, table in tables.items() if table is not None}
    return DatasetDict({split: Dataset.from_dict(_columns(task, table), features) for split, table in found.items()})


def _columns(task: SequenceTask, table: Table) -> dict[str, list[Any]]:
    labels = table.columns.get("label", [_NO_LABEL] * len(table))
    return {
        **{text: table.columns[text] for text in task.text_columns},
        "label": [_label(value, task) for value in labels],
        "idx": table.columns.get("idx", list(range(len(table)))),
    }


def _label(value: Any, task: SequenceTask) -> int | float:
    if task.regression:
        return float(value)
    return task.classes.index(value) if value in task.classes else int(value)


def _chosen(splits: Any, split: Any) -> Any:
    if split is None:
        return splits
    if str(split) not in splits:
        raise Refusal(
            f"load_dataset(…, split={str(split)!r}): a local copy offers only whole splits: "
            f"{', '.join(splits)}. Select rows with .select(range(…))."
        )
    return splits[str(split)]
