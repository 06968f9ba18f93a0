"""The names under which trackers show a run: those of Hugging Face's Trainer, so that old dashboards go on working."""

from __future__ import annotations

import json
from typing import Any

from pippin.recipe.fields import recipe_fields
from pippin.redact import without_secrets
from pippin.report.trackers.tracker import Figures
from pippin.runs.record import Run

#: Choices of the plan that Hugging Face has another name for.
_THEIR_NAMES = {
    "epochs": "num_train_epochs",
    "batch_size": "per_device_train_batch_size",
    "max_length": "max_seq_length",
}
#: Of an event, what is no figure to draw.
_NO_FIGURES = {"step", "seconds_left"}


def figures_of(event: dict[str, Any]) -> Figures:
    """The numbers of an event."""
    return {
        name: value
        for name, value in event.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in _NO_FIGURES
    }


def with_sections(figures: Figures) -> Figures:
    """Figures in the sections that dashboards show.

    >>> with_sections({"loss": 0.5, "eval_accuracy": 0.9})
    {'train/loss': 0.5, 'eval/accuracy': 0.9}
    """
    return {
        name.replace("_", "/", 1) if name.startswith(("eval_", "test_")) else f"train/{name}": value
        for name, value in figures.items()
    }


def settings_of(run: Run) -> dict[str, Any]:
    """What was asked for and what was chosen, as plain values without secrets."""
    asked = {name: getattr(run.recipe.public(), name) for name in recipe_fields()}
    chosen = {_THEIR_NAMES.get(name, name): choice.value for name, choice in run.plan.choices().items()}
    other = {"model": run.model, "data": run.data.name, "torch": run.machine.torch, "pippin": run.pippin}
    settings = {**asked, **(chosen if run.trains else {}), **other}
    return {name: _plain(value) for name, value in settings.items() if value is not None and value != ()}


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        value = ", ".join(map(str, value))
    elif isinstance(value, dict):
        value = json.dumps(value, default=str)
    return without_secrets(str(value))
