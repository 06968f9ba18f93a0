"""Prompts that `pippin chat` answers one by one: those of --text, of a file, or of standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pippin.cli.chat_model import load
from pippin.cli.device_errors import device_errors
from pippin.cli.flags import ChatFlags
from pippin.cli.given_rows import open_file, standard_input
from pippin.cli.output_file import naming, output_file
from pippin.cli.remarks import Screen, say
from pippin.data.kinds import kind_of
from pippin.data.tables import Table, header_of
from pippin.errors import PippinError
from pippin.tasks.language.prompts import Prompts, Question, find_prompts, questions_in, rows_named

if TYPE_CHECKING:
    from pippin.commands.chat.answers import Answers


def answer(model: str, flags: ChatFlags, settings: dict[str, Any]) -> None:
    """Answer all there is to answer: as rows where a file is read or written, else as plain text."""
    table = _table(flags)
    prompts = find_prompts(table, flags.text_column) if flags.file else Prompts(("text",), "")
    if flags.file and not flags.quiet:
        say(prompts.words())
    questions = questions_in(table, prompts, flags.system or "", flags.complete)
    if flags.file or flags.output:
        _answer_rows(model, table, questions, flags, settings)
    else:
        _answer_texts(model, table, questions, flags, settings)


def _table(flags: ChatFlags) -> Table:
    if flags.file:
        header = header_of(flags.column_names, flags.no_header)
        return open_file(flags.file, flags.encoding, header, flags.quiet).whole()
    if flags.text:
        return Table({"text": flags.text}, "--text")
    return standard_input(flags.encoding).whole()


def _answer_texts(
    model: str, table: Table, questions: list[Question], flags: ChatFlags, settings: dict[str, Any]
) -> None:
    """Print each answer as it comes, and a blank line between two."""
    screen = Screen() if sys.stdout.isatty() else sys.stdout

    def show(piece: str) -> None:
        screen.write(piece)
        sys.stdout.flush()

    with _answering(model, flags, settings) as answers:
        answers.check(table, questions)
        if answers.unfit:
            raise PippinError(f"{_unfit(answers, table)}. Shorten the prompt.")
        asked = [(place, question) for place, question in enumerate(questions) if question is not None]
        for number, (place, question) in enumerate(asked):
            show("\n" * (number > 0))
            answers.to_one(question, place, show)
            show("\n")
    _say_of_cut(answers, flags)


def _answer_rows(
    model: str, table: Table, questions: list[Question], flags: ChatFlags, settings: dict[str, Any]
) -> None:
    """Write every row with its answer, in its place."""
    with output_file(flags.output, flags.overwrite) as output, _answering(model, flags, settings) as answers:
        answers.check(table, questions)
        _write(table, questions, answers, output.file, flags)
    if output.path is not None:
        say(f"{len(table)} rows written to {output.path}")
    if empty := [place for place, question in enumerate(questions) if question is None]:
        say(f"no answer, because the prompt is empty: {table.origin}, {rows_named(table, empty)}")
    if answers.unfit:
        say(_unfit(answers, table))
    _say_of_cut(answers, flags)


@contextmanager
def _answering(model: str, flags: ChatFlags, settings: dict[str, Any]) -> Iterator[Answers]:
    generator = load(model, flags, settings)
    from pippin.commands.chat.answers import Answers

    with device_errors(model, generator.run, generator.backend):
        yield Answers(generator, settings, flags.seed)


def _write(table: Table, questions: list[Question], answers: Answers, file: TextIO, flags: ChatFlags) -> None:
    from pippin.report.terminal import Terminal, make_console
    from pippin.runs.predictions import LabelledWriter
    from pippin.tasks.language.answers import TextColumn

    on_screen = file is sys.stdout and file.isatty()
    # A bar would run through the rows where both are on the screen.
    terminal = Terminal(console=make_console(sys.stderr), live=not on_screen, quiet=flags.quiet)
    kind = _kind(flags)
    writer = LabelledWriter(Screen() if on_screen else file, kind, tuple(table.columns), TextColumn())
    with terminal.rows_bar(len(questions), "answering") as advance:
        for place, found in enumerate(answers.to(questions)):
            row = {name: [_cell(column[place], kind)] for name, column in table.columns.items()}
            with naming(flags.output):
                writer.write(row, [found])
                file.flush()
            advance(1)


def _kind(flags: ChatFlags) -> str:
    """How rows are written: as the output is called, else in the manner of the file that is read."""
    kind = kind_of(Path(flags.output or flags.file or ""))
    return ".jsonl" if kind in (".jsonl", ".json", ".ndjson", ".parquet") else ".csv"


def _cell(value: Any, kind: str) -> Any:
    """Lists and objects have no place in CSV but as JSON."""
    is_nested = kind == ".csv" and isinstance(value, (list, tuple, dict))
    return json.dumps(value, ensure_ascii=False, default=str) if is_nested else value


def _unfit(answers: Answers, table: Table) -> str:
    longest, rows = answers.generator.longest, rows_named(table, answers.unfit)
    return f"no room for an answer in the model's {longest} tokens: {table.origin}, {rows}"


def _say_of_cut(answers: Answers, flags: ChatFlags) -> None:
    if answers.cut and not flags.quiet:
        were = "answer was" if answers.cut == 1 else "answers were"
        say(f"{answers.cut} {were} cut off at the limit of tokens. For longer ones: --max_new_tokens N")
