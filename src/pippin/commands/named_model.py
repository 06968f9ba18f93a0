"""The model that somebody names to use it: the folder of a run or of a model, or a name on the Hub."""

from __future__ import annotations

import re
from pathlib import Path

from pippin.data.tables import listed
from pippin.errors import PippinError, nearest
from pippin.models import safety
from pippin.models.chat_model import NAME as BUILT_IN
from pippin.models.loading import trained_head
from pippin.recipe import Recipe
from pippin.runs.model import trained_run
from pippin.runs.record import NAME as RECORD
from pippin.runs.record import Run, read_record
from pippin.tasks.language.task import LanguageTask

_HUB_NAME = re.compile(r"(?!runs/)\w[\w.-]*/\w[\w.-]*")


def run_of(folder: str) -> Run | None:
    """The record of a trained model's run; None for a model that is not of a run. Refused where there is no model."""
    path = Path(folder)
    if path.is_file():
        raise PippinError(f"{folder} is a file; name the folder of a model.")
    if not path.exists():
        if _can_be_had(folder):
            return None
        there = [each.name for each in path.parent.iterdir() if each.is_dir()] if path.parent.is_dir() else []
        raise PippinError(f"{folder}: there is no such folder.{nearest(path.name, there)}")
    run = trained_run(path)
    if not _has_settings(path):
        runs = sorted(each.parent.name for each in path.glob(f"*/{RECORD}"))
        instead = (
            f"It holds the runs {listed(runs, 5)}: name one, such as {path / runs[0]}."
            if runs
            else ("Name the folder that `pippin train` wrote, such as runs/demo, or that of a transformers model.")
        )
        raise PippinError(f"{folder} is not a Pippin run, and holds no model (no config.json). {instead}")
    return run


def is_language_model(folder: str) -> bool:
    """Whether it answers rather than labels. False also where it cannot be told, since nothing usable is there."""
    path = Path(folder)
    if not path.is_dir():
        return _can_be_had(folder) and trained_head(Recipe(model_name_or_path=folder)) == LanguageTask.auto_model
    try:
        run = read_record(path)
    except PippinError:
        return False
    if run is not None:
        return run.data.pipeline == LanguageTask.pipeline
    return _has_settings(path) and trained_head(Recipe(model_name_or_path=folder)) == LanguageTask.auto_model


def _has_settings(folder: Path) -> bool:
    return any((folder / name).is_file() for name in (safety.CONFIG, safety.ADAPTER))


def _can_be_had(name: str) -> bool:
    """Whether a name that is no path here can be a model's."""
    return name == BUILT_IN or is_hub_name(name)


def is_hub_name(name: str) -> bool:
    """Whether a name that is no path here can be a model's on the Hub: org/name."""
    return bool(_HUB_NAME.fullmatch(name)) and not Path(name).exists()


def is_in_hub_cache(name: str) -> bool:
    """Whether a model of the Hub was fetched before."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.utils import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(name, "config.json"), str)
    except HFValidationError:
        return False
