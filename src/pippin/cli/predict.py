"""`pippin predict`: label texts from the command line, a file or standard input."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pippin.cli.output_file import naming, output_file
from pippin.errors import Mistakes, PippinError, nearest
from pippin.report.words import visible

if TYPE_CHECKING:
    from pippin.data.tables import Table
    from pippin.predictor import Predictor
    from pippin.training.predictions import Prediction

HELP = """
Usage: pippin predict RUN [--text TEXT ...] [--file FILE] [--output FILE] [--device NAME]

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
  --encoding NAME    Encoding of FILE or of standard input. Default: utf-8.
  --device NAME      cpu, cuda or mps. Default: the best one here.
Without --text and --file, each line of standard input is a text.
Every row of the input comes back in its place, with the columns label and score added (predicted_label
and predicted_score where the input has such columns). A row whose text is empty or blank comes back too,
with label and score left empty (null in JSONL): a model would answer, but there is nothing it could have
read. How many there are is said at the end.
In CSV, a text or label that a spreadsheet would run as a formula (it begins with = + - @, a tab or a line end,
and is no number) gets an apostrophe in front. JSONL holds every text and label unchanged.
"""

_FLAGS = {"text", "text2", "file", "text_column", "output", "encoding", "device"}


@dataclass
class _Request:
    run: str
    flags: dict[str, list[str]]

    def one(self, name: str) -> str | None:
        return self.flags[name][-1] if name in self.flags else None


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    if any(word in ("-h", "--help") for word in arguments):
        print(HELP.strip())
        return 0
    request = _read(arguments)
    table = _table(request)
    with output_file(request.one("output")) as file:
        predictor = _load(request)
        columns = _text_columns(table, request, predictor)
        with _device_errors(request, predictor):
            answers = _answer(table, columns, predictor)
        from pippin.training.predictions import write_labelled

        with naming(request.one("output")):
            write_labelled(_shown(file), Path(request.one("output") or "").suffix.lower(), table.columns, answers)
    if "output" in request.flags:
        _say(f"{len(answers)} rows written to {request.one('output')}")
    empty = [place for place, answer in enumerate(answers) if answer is None]
    if empty:
        first = f", the first in {table.where(empty[0])}" if "text" not in request.flags else ""
        _say(f"no label, because the text is empty: {len(empty)} of {len(answers)} rows{first}")
    return 0


def _say(text: str) -> None:
    print(visible(text), file=sys.stderr)


class _Screen(io.StringIO):
    """Standard output where it is a terminal: control characters in the texts are written out."""

    def write(self, text: str) -> int:
        return sys.stdout.write(visible(text))


def _shown(file: TextIO) -> TextIO:
    return _Screen() if file is sys.stdout and file.isatty() else file


def _read(arguments: list[str]) -> _Request:
    positional, flags, mistakes = [], dict[str, list[str]](), []
    words = iter(arguments)
    for word in words:
        if not word.startswith("-"):
            positional.append(word)
            continue
        typed, equals, value = word.partition("=")
        name = typed.lstrip("-").replace("-", "_")
        if not word.startswith("--"):
            mistakes.append(f"{typed}: flags start with two dashes.{nearest(name, sorted(_FLAGS), '--')}")
        elif name not in _FLAGS:
            mistakes.append(f"{typed}: there is no such flag.{nearest(name, sorted(_FLAGS), '--')}")
        following = value if equals else next(words, None)
        if following is None:
            mistakes.append(f"{typed} needs a value after it.")
        else:
            flags.setdefault(name, []).append(following)
    if len(positional) != 1:
        named = f"but {len(positional)} were named: {', '.join(positional)}" if positional else "but none was named"
        mistakes.append(f'name one RUN folder, {named}. Example: pippin predict runs/reviews --text "…"')
    mistakes += _contradictions(flags)
    if mistakes:
        raise Mistakes(mistakes)
    return _Request(positional[0], flags)


def _contradictions(flags: dict[str, list[str]]) -> Iterator[str]:
    """What is wrong with flags that are well written."""
    if "text" in flags and "file" in flags:
        yield "--text and --file exclude each other."
    if "text2" in flags and len(flags["text2"]) != len(flags.get("text", [])):
        yield "--text2 goes with --text: give as many of one as of the other."
    if "text_column" in flags and "file" not in flags:
        yield "--text_column goes with --file: it names the columns of that file."
    output = Path(flags.get("output", ["-.csv"])[-1])
    if output.suffix.lower() not in (".csv", ".jsonl"):
        yield f"--output {output}: the name must end in .csv or .jsonl."
    if not output.parent.is_dir():
        yield f"--output {output}: there is no folder {output.parent}."
    if output.is_dir():
        yield f"--output {output} is a folder; name a file."
    if "device" in flags:
        from pippin.machine.backends import check_device_name

        try:
            check_device_name(flags["device"][-1])
        except PippinError as error:
            yield str(error)


def _table(request: _Request) -> Table:
    """The input as columns."""
    from pippin.data.tables import Table, read_table

    encoding = request.one("encoding") or "utf-8"
    if "file" in request.flags:
        return read_table(Path(request.flags["file"][-1]), encoding)
    if "text" in request.flags:
        return Table({name: request.flags[name] for name in ("text", "text2") if name in request.flags}, "--text")
    return Table({"text": _standard_input(encoding)}, "standard input")


def _standard_input(encoding: str) -> list[str]:
    """The lines of standard input, blank ones among them."""
    if sys.stdin is not None and sys.stdin.isatty():
        _say("Type one text a line; end with Ctrl-D.")
    # Without a buffer it is no stream of bytes but was replaced by a program, and is text already.
    source = getattr(sys.stdin, "buffer", sys.stdin)
    read = source.read() if source is not None else ""
    from pippin.data.text_files import decode_bytes

    text = read if isinstance(read, str) else decode_bytes(read, "standard input", encoding)
    if not text:
        raise PippinError("standard input is empty: give --text, --file, or one text a line.")
    return [line.removesuffix("\n") for line in io.StringIO(text, newline=None)]


def _load(request: _Request) -> Predictor:
    from pippin.machine.backends import prepare_environment

    prepare_environment()
    from pippin.predictor import Predictor, is_hub_name, is_in_hub_cache

    if is_hub_name(request.run) and not is_in_hub_cache(request.run):
        _say(f"{request.run} is no folder here; asking the Hub")
    return Predictor.load(request.run, request.one("device"))


def _text_columns(table: Table, request: _Request, predictor: Predictor) -> tuple[str, ...]:
    """The columns to read, as many as the model was trained on."""
    from pippin.data.tables import listed
    from pippin.predictor import count_texts

    trained_on, asked = predictor.text_columns, request.one("text_column")
    if asked is not None:
        names = tuple(part.strip() for part in asked.split(","))
    elif "file" in request.flags:
        names = trained_on or _guess(table)
    else:
        names = tuple(table.columns)
    if trained_on and len(names) != len(trained_on):
        advice = f"name {len(trained_on)} with --text_column" if asked else "give --text"
        advice += " and --text2, or a --file" if len(trained_on) == 2 and not asked else ""
        raise PippinError(f"{request.run} was trained on {count_texts(trained_on)}, but {len(names)} came: {advice}.")
    if len(names) > 2 or len(set(names)) < len(names):
        raise PippinError(f"--text_column {asked}: name one column, or two different ones for pairs of texts.")
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise PippinError(
            f"{table.origin} has no column {', '.join(missing)}; it has {listed(table.columns)}. "
            f"Add --text_column NAME{',NAME' * (len(names) - 1)}."
        )
    return names


def _guess(table: Table) -> tuple[str, ...]:
    """The text columns for a model without a record of its training: the only one, or those of a known task."""
    from pippin.data.tables import listed
    from pippin.data.tasks import TASKS

    known = {task.text_columns for task in TASKS.values()}
    fitting = [names for names in known if all(name in table.columns for name in names)]
    if len(table.columns) == 1:
        fitting = [tuple(table.columns)]
    if len(fitting) != 1:
        raise PippinError(
            f"{table.origin}: which column is the text? It has {listed(table.columns)}, and the model's folder does "
            "not say (no run.json). Add --text_column NAME, or NAME,NAME for pairs of texts."
        )
    _say(f"text from {' and '.join(fitting[0])}; --text_column names another")
    return fitting[0]


def _answer(table: Table, names: tuple[str, ...], predictor: Predictor) -> list[Prediction | None]:
    """A prediction for each row; None where a text is missing."""
    from rich.console import Console

    from pippin.report.progress import TrainingProgress
    from pippin.report.terminal import Terminal

    columns = [_texts(table, name) for name in names]
    filled = [place for place, row in enumerate(zip(*columns, strict=True)) if all(row)]
    # A text of megabytes would keep the tokenizer busy for minutes, only to be cut. No token is this long.
    most = 1000 * predictor.max_length
    texts, *pairs = [[column[place].lstrip()[:most] for place in filled] for column in columns]
    answers: list[Prediction | None] = [None] * len(table)
    terminal = Terminal(console=Console(stderr=True))
    progress = TrainingProgress(terminal)
    predictor.inference.notice = lambda name, **figures: progress.on_event(name, figures)
    with terminal.rows_bar(len(filled), "predicting") as advance:
        for place, prediction in zip(
            filled, predictor.predict(texts, pairs[0] if pairs else None, advance), strict=True
        ):
            answers[place] = prediction
    return answers


@contextmanager
def _device_errors(request: _Request, predictor: Predictor) -> Iterator[None]:
    """Errors of the device as one message; what there is to report goes into the run's folder, else into this one."""
    from pippin.failures.explained import explained, write_here
    from pippin.machine.probe import probe
    from pippin.training.run import RunFolder

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


def _texts(table: Table, name: str) -> list[str]:
    """The cells of a column as texts, "" for those that hold nothing."""
    from pippin.data.labels import is_missing
    from pippin.predictor import text_problem

    texts: list[Any] = []
    for place, cell in enumerate(table.columns[name]):
        texts.append("" if is_missing(cell) else cell if isinstance(cell, (list, tuple, dict, bytes)) else str(cell))
        problem = text_problem(texts[-1])
        if texts[-1] != "" and problem:
            raise PippinError(f"{table.where(place)}: column {name!r} {problem}. Mend it, or name another column.")
    return texts
