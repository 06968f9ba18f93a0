"""Pippin from Python: `pippin.train(...)`, and `pippin.load(run)` to use what was trained."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pippin.errors import PippinError, shown
from pippin.machine.drivers import check_device_name, prepare_environment
from pippin.machine.launch import place_here
from pippin.recipe.reading import recipe_from
from pippin.recipe.signature import in_python, with_settings
from pippin.report.report import Report, for_python
from pippin.report.trackers.installed import check_installed

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from pippin.commands.generator import Generator
    from pippin.commands.predictor import Predictor
    from pippin.recipe.settings import Settings

#: What no file system has as a path, and what a text mostly has.
_LONGEST_PATH = 4096


def train(
    data: Any = None,
    *,
    validation: Any = None,
    test: Any = None,
    texts: Any = None,
    labels: Any = None,
    quiet: bool = False,
    **settings: Unpack[Settings],
) -> Report:
    """Fine-tune a model on rows of text and label, and return the Report of the run.

    data         the training rows: the path of a file or folder, a pandas DataFrame, a list of dicts, a dict of
                 columns, a datasets.Dataset, or a DatasetDict with the splits train, validation and test.
                 Without any: the built-in questions.
    validation   rows to evaluate on, of the same kinds. Without them, a part of the training rows is held out.
    test         rows to predict at the end, of the same kinds; their labels are optional.
    texts        the training texts, or pairs (first, second) of texts, instead of data …
    labels       … and the label of each.
    quiet        print warnings only.

    In several processes (torchrun, Ray Train …) each calls it and gets the same Report.

    Rows are counted from 1 in messages. Those that are handed in, rather than named by a path, are kept in the cache
    (PIPPIN_CACHE), so that `pippin resume RUN` works when this process is gone.

    >>> report = train("reviews.csv", num_train_epochs=3)   # doctest: +SKIP
    >>> report = train(texts=["Great!", "Dull."] * 50, labels=["good", "bad"] * 50)   # doctest: +SKIP
    >>> report.results["eval_accuracy"]                     # doctest: +SKIP

    The settings are the flags of `pippin train`:
    """
    with _python_words():
        given: dict[str, Any] = dict(settings)
        notes = _add_rows(given, data, validation, test, texts, labels)
        reading = recipe_from(given)
        if reading.recipe.device:
            check_device_name(reading.recipe.device)
        check_installed(reading.recipe.report_to or ())
        for name in ("processes", "hosts"):
            if getattr(reading.recipe, name):
                raise PippinError(
                    f"{name} is for the command line. In Python, start your program in several processes, such as "
                    "with `torchrun --nproc_per_node 4 program.py`: pippin.train takes part."
                )
        too_late = prepare_environment(reading.recipe.mps_fallback == "on")
        from pippin.commands.processes import take_part
        from pippin.report.notebook import terminal_for

        place, terminal = place_here(), terminal_for(reading.recipe, quiet)
        if place.is_first:
            for note in (*reading.notes, *notes):
                terminal.note(note)
            if too_late:
                terminal.warn(too_late)
        report = take_part(reading.recipe, terminal, place)
        if report is None:
            raise PippinError("the first process of this job has failed: its message says why.")
        return for_python(report)


def load(
    folder: str | PathLike[str],
    device: str | None = None,
    int8: bool = False,
    aggregation_strategy: Literal["simple", "first"] | None = None,
) -> Predictor | Generator:
    """A trained model, ready to use: a Pippin run, or a folder or Hub name of a model of transformers.

    Models that label texts, or find names in them, come as a Predictor, and language models as a Generator.

    With ``int8`` the linear layers of a Predictor compute in 8 bits: faster, on the CPU only, and inexact, so labels
    may differ from the exact model's. ``aggregation_strategy`` is for models that find spans: "first" keeps words
    whole.

    >>> model = pippin.load("runs/reviews")         # doctest: +SKIP
    >>> model.predict("What a lovely film")         # doctest: +SKIP
    Prediction(label='positive', score=0.98)
    >>> model = pippin.load("runs/chats")           # doctest: +SKIP
    >>> model.answer("What is the capital of France?")   # doctest: +SKIP
    'Paris.'
    """
    with _python_words():
        if device:
            check_device_name(device)
        too_late = prepare_environment()
        if too_late:
            warnings.warn(too_late, stacklevel=2)
        from pippin.commands.named_model import is_language_model

        if is_language_model(str(folder)):
            if int8 or aggregation_strategy:
                name = "int8" if int8 else "aggregation_strategy"
                raise PippinError(f"{name} is for models that label texts, and {folder} is a language model.")
            from pippin.commands.generator import Generator

            return Generator.load(str(folder), device)
        from pippin.commands.predictor import Predictor

        return Predictor.load(str(folder), device, int8, aggregation_strategy)


def _add_rows(given: dict[str, Any], data: Any, validation: Any, test: Any, texts: Any, labels: Any) -> list[str]:
    """Put the rows into the settings as paths; returns what there is to say of it."""
    origin = ""
    if texts is not None or labels is not None:
        from pippin.data.in_memory import of_texts

        if data is not None:
            raise PippinError("data and texts exclude each other: rows come from one place.")
        data, origin = of_texts(texts, labels), "texts and labels"
    if validation is not None and data is None and not {"train_file", "task_name", "dataset_name"} & given.keys():
        raise PippinError("validation needs training rows beside it: give data, or texts and labels.")
    notes: list[str] = []
    for rows, name, role in (
        (data, "data", ""),
        (validation, "validation_file", "validation"),
        (test, "test_file", "test"),
    ):
        if rows is None:
            continue
        if given.get(name) is not None:
            raise PippinError(f"{role or name} and {name} exclude each other: keep one.")
        if isinstance(rows, (str, PathLike)):
            given[name] = _path(rows, role or name)
        else:
            from pippin.data.in_memory import keep

            kept = keep(rows, role, "" if role else origin)
            given[name] = str(kept.path)
            notes += kept.notes
    return notes


def _path(path: str | PathLike[str], argument: str) -> str:
    text = str(path)
    if "\n" in text or len(text) > _LONGEST_PATH or "\0" in text:
        raise PippinError(
            f"{argument} is {shown(text)}, a text of {len(text)} characters and no path. Give the path of a file; "
            "texts themselves go into pippin.train(texts=[…], labels=[…])."
        )
    try:
        Path(text).exists()
    except OSError as error:  # such as a name that is too long
        raise PippinError(f"{argument} {shown(text)}: {error.strerror or error}.") from None
    return text


@contextmanager
def _python_words() -> Iterator[None]:
    """Errors name the keyword, not the flag of the command line."""
    warnings.filterwarnings("ignore", "IProgress not found")  # tqdm asks for widgets that Pippin does not use
    try:
        yield
    except PippinError as error:
        error.args = (in_python(str(error)),)
        raise


with_settings(train)
