"""The rows that `pippin predict` is to label: from a file, the command line or standard input, chunk after chunk."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pippin.cli.flags import PredictFlags
from pippin.commands.given_texts import count_texts, text_problem
from pippin.data.chunks import in_chunks
from pippin.data.examples import Examples
from pippin.data.tables import Table, TableStream, header_of, listed, open_table, stream_of
from pippin.data.text_files import blocks_of, decoded, lines_of
from pippin.errors import PippinError
from pippin.tasks.sequence.labels import is_missing
from pippin.text import visible

if TYPE_CHECKING:  # it brings torch, and mistakes in the input are found without
    from pippin.commands.predictor import Predictor


def say(text: str) -> None:
    """A remark beside the rows, on standard error."""
    print(visible(text), file=sys.stderr)


def open_input(flags: PredictFlags) -> TableStream:
    """The input. Of a file, all that is wrong with its form is found here; of standard input, what begins it."""
    if flags.file:
        header = header_of(flags.column_names, flags.no_header)
        stream = open_table(Path(flags.file), flags.encoding, lines_are_texts=True, header=header)
        for note in () if flags.quiet else stream.notes:
            say(note)
        return stream
    if flags.text is None:
        return _standard_input(flags.encoding)
    columns: dict[str, list[Any]] = {"text": flags.text}
    if flags.text2:
        columns["text2"] = flags.text2
    return stream_of(Table(columns, "--text"))


def _standard_input(encoding: str) -> TableStream:
    """The lines of standard input, blank ones among them."""
    if sys.stdin is not None and sys.stdin.isatty():
        say("Type one text a line; end with Ctrl-D.")
    origin = "standard input"
    tables = (Table({"text": chunk}, origin, first=first) for first, chunk in in_chunks(_lines(encoding), len))
    first = next(tables, None)
    if first is None:
        raise PippinError("standard input is empty: give --text, --file, or one text a line.")
    return TableStream(first.origin, tuple(first.columns), lambda: chain([first], tables))


def _lines(encoding: str) -> Iterator[str]:
    if sys.stdin is None:
        return iter(())
    if hasattr(sys.stdin, "buffer"):
        blocks: Iterable[str] = decoded(blocks_of(sys.stdin.buffer.read), "standard input", encoding)
    else:  # no stream of bytes but replaced by a program, and text already
        blocks = blocks_of(sys.stdin.read)
    return (line.removesuffix("\n") for line in lines_of(_with_unix_ends(blocks), "standard input"))


def _with_unix_ends(blocks: Iterable[str]) -> Iterator[str]:
    """The same characters with \n for every way to end a line."""
    ends = io.IncrementalNewlineDecoder(None, translate=True)
    for block in blocks:
        yield ends.decode(block)
    yield ends.decode("", final=True)


def text_columns(rows: TableStream, flags: PredictFlags, predictor: Predictor, run: str) -> tuple[str, ...]:
    """The columns to read, as many as the model was trained on."""
    trained_on, asked = predictor.text_columns, flags.text_column
    if asked:
        names = asked
    elif flags.file and rows.has_names:
        names = trained_on or _guess(rows)
    else:
        names = tuple(name for name in rows.names if name != "label")
    if trained_on and len(names) != len(trained_on):
        advice = f"name {len(trained_on)} with --text_column" if asked else "give --text"
        advice += " and --text2, or a --file" if len(trained_on) == 2 and not asked else ""
        raise PippinError(f"{run} was trained on {count_texts(trained_on)}, but {len(names)} came: {advice}.")
    if len(names) > 2 or len(set(names)) < len(names):
        raise PippinError(
            f"--text_column {','.join(asked)}: name one column, or two different ones for pairs of texts."
        )
    missing = [name for name in names if name not in rows.names]
    if missing:
        raise PippinError(
            f"{rows.origin} has no column {', '.join(missing)}; it has {listed(rows.names)}. "
            f"Add --text_column NAME{',NAME' * (len(names) - 1)}."
        )
    return names


def _guess(rows: TableStream) -> tuple[str, ...]:
    """The text columns for a model without a record of its training: the only one, or those of a known task."""
    from pippin.tasks.sequence.known import TASKS

    known = {task.text_columns for task in TASKS.values()}
    fitting = [names for names in known if all(name in rows.names for name in names)]
    if len(rows.names) == 1:
        fitting = [rows.names]
    if len(fitting) != 1:
        raise PippinError(
            f"{rows.origin}: which column is the text? It has {listed(rows.names)}, and the model's folder does "
            "not say (no run.json). Add --text_column NAME, or NAME,NAME for pairs of texts."
        )
    say(f"text from {' and '.join(fitting[0])}; --text_column names another")
    return fitting[0]


def to_label(
    tables: Iterable[Table], names: tuple[str, ...], max_length: int
) -> Iterator[tuple[tuple[Table, list[int]], Examples]]:
    """Of each table the rows that have a text, as examples; with it the table and the places of these rows."""
    # A text of megabytes would keep the tokenizer busy for minutes, only to be cut. No token is this long.
    most = 1000 * max_length
    for table in tables:
        columns = [_texts(table, name) for name in names]
        filled = [place for place, row in enumerate(zip(*columns, strict=True)) if all(row)]
        texts, *pairs = [[column[place].lstrip()[:most] for place in filled] for column in columns]
        rows = [table.first + place + 1 for place in filled]
        yield (table, filled), Examples(texts, pairs[0] if pairs else None, None, rows, table.origin)


def _texts(table: Table, name: str) -> list[str]:
    """The cells of a column as texts, "" for those that hold nothing."""
    texts: list[Any] = []
    for place, cell in enumerate(table.columns[name]):
        texts.append("" if is_missing(cell) else cell if isinstance(cell, (list, tuple, dict, bytes)) else str(cell))
        problem = text_problem(texts[-1])
        if texts[-1] != "" and problem:
            raise PippinError(f"{table.where(place)}: column {name!r} {problem}. Correct it, or name another column.")
    return texts
