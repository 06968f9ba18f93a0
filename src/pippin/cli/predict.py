"""`pippin predict`: label texts from the command line, a file or standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pippin.cli.command_line import CommandLine
from pippin.cli.device_errors import device_errors
from pippin.cli.flags import PredictFlags
from pippin.cli.output_file import naming, output_file, output_problem
from pippin.cli.remarks import Screen, say, say_where_from
from pippin.data.kinds import CONLL_KINDS, kind_of
from pippin.errors import PippinError, collecting
from pippin.machine.drivers import check_device_name, prepare_environment

if TYPE_CHECKING:
    from pippin.commands.predictor import Predictor
    from pippin.data.tables import TableStream
    from pippin.runs.predictions import ConllWriter, LabelledWriter
    from pippin.tasks.base import Answer, AnswerColumns


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
    from pippin.cli.predict_input import open_input, text_columns

    run, rows = line.words[0], open_input(flags)
    with output_file(flags.output, flags.overwrite) as output:
        predictor = _load(run, flags)
        columns = text_columns(rows, flags, predictor, run)
        with device_errors(run, predictor.run, predictor.inference.backend):
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
        if kind_of(path) not in (".csv", ".jsonl", *CONLL_KINDS):
            found.append(f"--output {path}: the name must end in .csv or .jsonl (or .conll, for a CoNLL FILE).")
        problem = output_problem("--output", path, flags.overwrite, [flags.file or standard_input, standard_input])
        found += [problem] if problem else []
    if flags.device:
        with collecting(found):
            check_device_name(flags.device)
    return found


def _load(run: str, flags: PredictFlags) -> Predictor:
    prepare_environment()
    from pippin.commands.predictor import Predictor
    from pippin.models.int8 import INEXACT

    if not flags.quiet:
        say_where_from(run)
    predictor = Predictor.load(run, flags.device, flags.int8, flags.aggregation_strategy)
    if flags.int8 and not flags.quiet:
        say(INEXACT)
    return predictor


def _label(
    rows: TableStream, columns: tuple[str, ...], predictor: Predictor, file: TextIO, flags: PredictFlags
) -> _Done:
    """Read, label and write chunk after chunk."""
    from pippin.cli.predict_input import reads_words, to_label
    from pippin.report.progress import TrainingProgress
    from pippin.report.terminal import Terminal, make_console

    shown = file is sys.stdout and file.isatty()
    # A bar would run through the rows where both are on the screen.
    terminal = Terminal(console=make_console(sys.stderr), live=not shown, quiet=flags.quiet)
    progress = TrainingProgress(terminal)
    predictor.notice = terminal.warn
    predictor.inference.notice = lambda name, **figures: progress.on_event(name, figures)
    words = reads_words(rows, columns, predictor)
    added = predictor.task.answer_columns(flags.top_k, flags.all_scores, words)
    writer = _writer(rows, columns[0], words, added, Screen() if shown else file, flags)
    answers_to: Callable[..., Iterator[Any]] = predictor.answers
    if added.needs_scores:
        predictor.check_scores()
        answers_to = predictor.probabilities
    done = _Done()
    with terminal.rows_bar(rows.rows, "predicting") as advance:
        for (table, filled), found in answers_to(to_label(rows.parts(), columns, words, predictor.max_length), advance):
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
    with naming(flags.output):
        writer.finish()
    return done


def _writer(
    rows: TableStream, column: str, words: bool, added: AnswerColumns, file: TextIO, flags: PredictFlags
) -> LabelledWriter | ConllWriter:
    """Rows with their answers, in the form that the output's name asks for, else the file's own."""
    from pippin.data.text_files import lines_of, text_blocks
    from pippin.runs.predictions import ConllWriter, LabelledWriter

    kind = kind_of(Path(flags.output)) if flags.output else ""
    if kind in CONLL_KINDS and not (words and rows.is_conll):
        raise PippinError(f"--output {flags.output}: CoNLL adds a column to a CoNLL --file. Write .csv or .jsonl.")
    if words and rows.is_conll and kind not in (".csv", ".jsonl"):
        return ConllWriter(file, lines_of(text_blocks(Path(str(flags.file)), flags.encoding), rows.origin), column)
    return LabelledWriter(file, kind, rows.names, added)
