"""`pippin predict`: label texts from the command line, a file or standard input."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pippin.cli.command_line import CommandLine
from pippin.cli.flags import PredictFlags
from pippin.cli.output_file import naming, output_file, output_problem
from pippin.errors import PippinError, collecting
from pippin.machine.drivers import check_device_name, prepare_environment
from pippin.text import visible

if TYPE_CHECKING:
    from pippin.commands.predictor import Predictor
    from pippin.data.tables import TableStream
    from pippin.runs.predictions import Answer


@dataclass
class _Done:
    """What there is to say of all rows together."""

    rows: int = 0
    empty: int = 0
    first_empty: str = ""
    """Where the first row without a text stands."""


def run(line: CommandLine) -> int:
    """Run the command; returns the exit code."""
    flags: PredictFlags = line.flags
    line.refuse(_contradictions(flags))
    from pippin.cli.predict_input import open_input, say, text_columns

    run, rows = line.words[0], open_input(flags)
    with output_file(flags.output, flags.overwrite) as output:
        predictor = _load(run, flags)
        columns = text_columns(rows, flags, predictor, run)
        with _device_errors(run, predictor):
            done = _label(rows, columns, predictor, output.file, flags)
    if output.path is not None:
        say(f"{done.rows} rows written to {output.path}")
    if done.empty:
        first = f", the first in {done.first_empty}" if flags.text is None else ""
        say(f"no label, because the text is empty: {done.empty} of {done.rows} rows{first}")
    return 0


def _contradictions(flags: PredictFlags) -> list[str]:
    found = []
    if flags.text and flags.file:
        found.append("--text and --file exclude each other.")
    if flags.text2 and len(flags.text2) != len(flags.text or ()):
        found.append("--text2 goes with --text: give as many of one as of the other.")
    if flags.text_column and not flags.file:
        found.append("--text_column goes with --file: it names the columns of that file.")
    if flags.top_k is not None and flags.top_k < 1:
        found.append(f"--top_k {flags.top_k} must be at least 1.")
    if flags.top_k is not None and flags.all_scores:
        found.append("--top_k and --all_scores exclude each other: all scores hold the highest ones too.")
    if flags.overwrite and not flags.output:
        found.append("--overwrite goes with --output: it is about that file.")
    if flags.output:
        path, standard_input = Path(flags.output), 0
        if path.suffix.lower() not in (".csv", ".jsonl"):
            found.append(f"--output {path}: the name must end in .csv or .jsonl.")
        problem = output_problem("--output", path, flags.overwrite, [flags.file or standard_input, standard_input])
        found += [problem] if problem else []
    if flags.device:
        with collecting(found):
            check_device_name(flags.device)
    return found


def _load(run: str, flags: PredictFlags) -> Predictor:
    from pippin.cli.predict_input import say

    prepare_environment()
    from pippin.commands.predictor import Predictor, is_hub_name, is_in_hub_cache
    from pippin.models.int8 import INEXACT

    if is_hub_name(run) and not is_in_hub_cache(run) and not flags.quiet:
        say(f"there is no folder {run} here: asking the Hub")
    predictor = Predictor.load(run, flags.device, flags.int8)
    if flags.int8 and not flags.quiet:
        say(INEXACT)
    return predictor


def _label(
    rows: TableStream, columns: tuple[str, ...], predictor: Predictor, file: TextIO, flags: PredictFlags
) -> _Done:
    """Read, label and write chunk after chunk."""
    from pippin.cli.predict_input import to_label
    from pippin.report.progress import TrainingProgress
    from pippin.report.terminal import Terminal, make_console
    from pippin.runs.predictions import AnswerColumns, LabelledWriter

    shown = file is sys.stdout and file.isatty()
    # A bar would run through the rows where both are on the screen.
    terminal = Terminal(console=make_console(sys.stderr), live=not shown, quiet=flags.quiet)
    progress = TrainingProgress(terminal)
    predictor.notice = terminal.warn
    predictor.inference.notice = lambda name, **figures: progress.on_event(name, figures)
    added = AnswerColumns(predictor.task.labels, flags.top_k, flags.all_scores)
    suffix = Path(flags.output or "").suffix.lower()
    writer = LabelledWriter(_Screen() if shown else file, suffix, rows.names, added)
    answers_to: Callable[..., Iterator[Any]] = predictor.answers
    if added.needs_scores:
        predictor.check_scores()
        answers_to = predictor.probabilities
    done = _Done()
    with terminal.rows_bar(rows.rows, "predicting") as advance:
        for (table, filled), found in answers_to(to_label(rows.parts(), columns, predictor.max_length), advance):
            answers: list[Answer | None] = [None] * len(table)
            for place, prediction in zip(filled, found, strict=True):
                answers[place] = prediction
            if done.empty == 0 and len(filled) < len(table):
                done.first_empty = table.where(next(place for place, answer in enumerate(answers) if answer is None))
            done.rows += len(answers)
            done.empty += len(answers) - len(filled)
            advance(len(answers) - len(filled))
            with naming(flags.output):
                writer.write(table.columns, answers)
    return done


class _Screen(io.StringIO):
    """Standard output where it is a terminal: control characters in the texts are written out."""

    def write(self, text: str) -> int:
        return sys.stdout.write(visible(text))


@contextmanager
def _device_errors(run: str, predictor: Predictor) -> Iterator[None]:
    """Errors of the device as one message; what there is to report goes into the run's folder, else into this one."""
    from pippin.commands.failures.explained import explained, write_here
    from pippin.machine.probe import probe
    from pippin.runs.folder import RunFolder

    def write(name: str, text: str) -> Path:
        if predictor.run is None:
            return write_here(name, text)
        folder = RunFolder(Path(run))
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
