"""`pippin predict`: label texts from the command line, a file or standard input."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from pippin.cli.output_file import naming, output_file
from pippin.cli.predict_request import Request, read_request
from pippin.errors import PippinError
from pippin.text import visible

if TYPE_CHECKING:
    from pippin.commands.predictor import Predictor
    from pippin.data.tables import TableStream
    from pippin.tasks.base import Prediction

HELP = """
Usage: pippin predict RUN [--text TEXT ...] [--file FILE] [--output FILE] [--overwrite] [--device NAME] [--int8] [-q]

Label texts with a trained model: a run of Pippin's, any folder of a transformers classifier, or its
name on the Hugging Face Hub (org/name).

  pippin predict runs/reviews --text "What a lovely film" --text "Dull."
  pippin predict runs/reviews --file new.csv --output labelled.csv
  cat lines.txt | pippin predict runs/reviews > labelled.csv

  --text TEXT        A text to label; may be given several times. For a model of text pairs give
                     --text FIRST --text2 SECOND.
  --text2 TEXT       The second text of each pair.
  --file FILE        CSV, TSV, JSON, JSONL or Parquet. The text columns are those of the training.
  --text_column NAME[,NAME]
                     The text columns of FILE, when they have other names than in training.
  --output FILE      Where to write: .csv or .jsonl. Default: CSV on standard output.
  --overwrite        Replace FILE of --output if it is there already. Without it, that is refused.
  --encoding NAME    Encoding of FILE or of standard input. Default: utf-8.
  --device NAME      cpu, cuda or mps. Default: the best one here.
  --int8             Inexact, and faster: the model computes in 8 bits, so labels may differ from the exact
                     model's. On the CPU only.
  --quiet, -q        No progress bar and no notes.
Without --text and --file, each line of standard input is a text.
Every row of the input comes back in its place, with the columns label and score added (predicted_label
and predicted_score where the input has such columns). A row whose text is empty or blank comes back too,
with label and score left empty (null in JSONL): a model would answer, but there is nothing it could have
read. How many there are is said at the end.
Rows are read, labelled and written some thousand at a time, so a file may be larger than the memory (but for
JSON that is not one object per line). FILE of --output appears when all is done, and only if all went well.
In CSV, a text or label that a spreadsheet would run as a formula (it begins with = + - @, a tab or a line end,
and is no number) gets an apostrophe in front. JSONL holds every text and label unchanged.
"""


@dataclass
class _Done:
    """What there is to say of all rows together."""

    rows: int = 0
    empty: int = 0
    first_empty: str = ""
    """Where the first row without a text stands."""


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    if any(word in ("-h", "--help") for word in arguments):
        print(HELP.strip())
        return 0
    request = read_request(arguments)
    from pippin.cli.predict_input import open_input, say, text_columns

    rows = open_input(request)
    with output_file(request.one("output"), "overwrite" in request.flags) as output:
        predictor = _load(request)
        columns = text_columns(rows, request, predictor)
        with _device_errors(request, predictor):
            done = _label(rows, columns, predictor, output.file, request)
    if output.path is not None:
        say(f"{done.rows} rows written to {output.path}")
    if done.empty:
        first = f", the first in {done.first_empty}" if "text" not in request.flags else ""
        say(f"no label, because the text is empty: {done.empty} of {done.rows} rows{first}")
    return 0


def _load(request: Request) -> Predictor:
    from pippin.cli.predict_input import say
    from pippin.machine.drivers import prepare_environment

    prepare_environment()
    from pippin.commands.predictor import Predictor, is_hub_name, is_in_hub_cache
    from pippin.models.int8 import INEXACT

    is_quiet = "quiet" in request.flags
    if is_hub_name(request.run) and not is_in_hub_cache(request.run) and not is_quiet:
        say(f"{request.run} is no folder here; asking the Hub")
    predictor = Predictor.load(request.run, request.one("device"), int8="int8" in request.flags)
    if "int8" in request.flags and not is_quiet:
        say(INEXACT)
    return predictor


def _label(rows: TableStream, columns: tuple[str, ...], predictor: Predictor, file: TextIO, request: Request) -> _Done:
    """Read, label and write chunk after chunk."""
    from pippin.cli.predict_input import to_label
    from pippin.report.progress import TrainingProgress
    from pippin.report.terminal import Terminal, make_console
    from pippin.runs.predictions import LabelledWriter

    output = request.one("output")
    shown = file is sys.stdout and file.isatty()
    # A bar would run through the rows where both are on the screen.
    terminal = Terminal(console=make_console(sys.stderr), live=not shown, quiet="quiet" in request.flags)
    progress = TrainingProgress(terminal)
    predictor.inference.notice = lambda name, **figures: progress.on_event(name, figures)
    writer = LabelledWriter(_Screen() if shown else file, Path(output or "").suffix.lower(), rows.names)
    done = _Done()
    with terminal.rows_bar(rows.rows, "predicting") as advance:
        for (table, filled), found in predictor.answers(to_label(rows.parts(), columns, predictor.max_length), advance):
            answers: list[Prediction | None] = [None] * len(table)
            for place, prediction in zip(filled, found, strict=True):
                answers[place] = prediction
            if done.empty == 0 and None in answers:
                done.first_empty = table.where(answers.index(None))
            done.rows += len(answers)
            done.empty += len(answers) - len(filled)
            advance(len(answers) - len(filled))
            with naming(output):
                writer.write(table.columns, answers)
    return done


class _Screen(io.StringIO):
    """Standard output where it is a terminal: control characters in the texts are written out."""

    def write(self, text: str) -> int:
        return sys.stdout.write(visible(text))


@contextmanager
def _device_errors(request: Request, predictor: Predictor) -> Iterator[None]:
    """Errors of the device as one message; what there is to report goes into the run's folder, else into this one."""
    from pippin.commands.failures.explained import explained, write_here
    from pippin.machine.probe import probe
    from pippin.runs.folder import RunFolder

    def write(name: str, text: str) -> Path:
        if predictor.run is None:
            return write_here(name, text)
        folder = RunFolder(Path(request.run))
        folder.run = predictor.run
        return folder.write(name, text)

    backend = predictor.inference.backend
    with explained(backend, probe, write, on_cpu="--device cpu"):
        try:
            yield
        except (RuntimeError, MemoryError) as error:
            if not backend.is_out_of_memory(error):
                raise
            # The device's own advice is about training.
            raise PippinError(
                f"the device {backend.kind} ran out of memory. Close other programs, or add --device cpu."
            ) from error
