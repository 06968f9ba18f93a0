"""Pippin from Python: `pippin.train(...)` and `pippin.load(run).predict(texts)`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any

from pippin.errors import PippinError
from pippin.machine.drivers import check_device_name, prepare_environment
from pippin.recipe.reading import recipe_from
from pippin.report.report import Report
from pippin.report.trackers.installed import check_installed

if TYPE_CHECKING:
    from pippin.commands.predictor import Predictor


def train(data: str | PathLike[str] | None = None, *, quiet: bool = False, **settings: Any) -> Report:
    """Fine-tune a model; the same settings as the flags of `pippin train`.

    >>> report = train("reviews.csv", num_train_epochs=3)   # doctest: +SKIP
    >>> report.results["eval_accuracy"]                     # doctest: +SKIP
    """
    if data is not None:
        settings["data"] = str(data)
    reading = recipe_from(settings)
    with _python_words():
        if reading.recipe.device:
            check_device_name(reading.recipe.device)
        check_installed(reading.recipe.report_to or ())
        too_late = prepare_environment(reading.recipe.mps_fallback == "on")
        from pippin.commands.train import run_job
        from pippin.report.terminal import Terminal

        terminal = Terminal(quiet=True) if quiet else Terminal.for_recipe(reading.recipe)
        for note in reading.notes:
            terminal.note(note)
        if too_late:
            terminal.warn(too_late)
        return run_job(reading.recipe, terminal)


def load(folder: str | PathLike[str], device: str | None = None, int8: bool = False) -> Predictor:
    """A trained model, ready to predict: a Pippin run or any transformers classifier's folder.

    With ``int8`` its linear layers compute in 8 bits: faster, for the CPU only, and inexact, so labels may differ from
    the exact model's.

    >>> load("runs/reviews").predict(["What a lovely film"])   # doctest: +SKIP
    [Prediction(label='positive', score=0.98, value=None)]
    """
    with _python_words():
        if device:
            check_device_name(device)
        too_late = prepare_environment()
        if too_late:
            warnings.warn(too_late, stacklevel=2)
        from pippin.commands.predictor import Predictor

        return Predictor.load(str(folder), device, int8)


@contextmanager
def _python_words() -> Iterator[None]:
    """Errors about the device name the argument, not the flag."""
    try:
        yield
    except PippinError as error:
        if not str(error).startswith("--device "):
            raise
        raise PippinError(str(error).replace("--device ", "device=")) from None
