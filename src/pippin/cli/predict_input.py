"""The rows that `pippin predict` is to label: from a file, the command line or standard input, chunk after chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pippin.cli.flags import PredictFlags
from pippin.cli.given_rows import open_file, standard_input
from pippin.cli.remarks import say
from pippin.commands.given_texts import count_texts, text_problem
from pippin.data.examples import Examples, WordExamples, join_words, pairs_of
from pippin.data.tables import Table, TableStream, header_of, listed, stream_of
from pippin.errors import PippinError, shown
from pippin.tasks.sequence.labels import is_missing

if TYPE_CHECKING:  # it brings torch, and mistakes in the input are found without
    from pippin.commands.predictor import Predictor


def open_input(flags: PredictFlags) -> TableStream:
    """The input. Of a file, all that is wrong with its form is found here; of standard input, what begins it."""
    if flags.file:
        header = header_of(flags.column_names, flags.no_header)
        return open_file(flags.file, flags.encoding, header, flags.quiet)
    if flags.text is None:
        return standard_input(flags.encoding)
    columns: dict[str, list[Any]] = {"text": flags.text}
    if flags.text2:
        columns["text2"] = flags.text2
    return stream_of(Table(columns, "--text"))


def text_columns(rows: TableStream, flags: PredictFlags, predictor: Predictor, run: str) -> tuple[str, ...]:
    """The columns to read, as many as the model was trained on."""
    trained_on, asked = predictor.text_columns, flags.text_column
    if asked:
        names = asked
    elif flags.file and rows.has_names:
        names = trained_on or _guess(rows)
        if predictor.task.reads == "every token" and not set(names) <= set(rows.names):
            names = _guess(rows)  # trained on words, and used on texts
    else:
        names = tuple(name for name in rows.names if name != "label")
    if trained_on and len(names) != len(trained_on):
        ways = {1: "give --text", 2: "give --text and --text2, or a --file"}
        other = ways.get(len(trained_on), "give a --file with these columns")
        advice = f"name {len(trained_on)} with --text_column" if asked else other
        raise PippinError(f"{run} was trained on {count_texts(trained_on)}, but {len(names)} came: {advice}.")
    if len(set(names)) < len(names):
        raise PippinError(f"--text_column {','.join(asked)} names a column twice. Name different ones.")
    missing = [name for name in names if name not in rows.names]
    if missing:
        raise PippinError(
            f"{rows.origin} has no column {', '.join(missing)}; it has {listed(rows.names)}. "
            f"Add --text_column NAME{',NAME' * (len(names) - 1)}."
        )
    return names


def _guess(rows: TableStream) -> tuple[str, ...]:
    """The text columns for a model without a record of its training: the only one, or those of a known task."""
    from pippin.data.conll_files import TOKENS
    from pippin.tasks.sequence.known import TASKS

    known = {task.text_columns for task in TASKS.values()}
    fitting = [names for names in known if all(name in rows.names for name in names)]
    if rows.is_conll:
        fitting = [(TOKENS,)]
    elif len(rows.names) == 1:
        fitting = [rows.names]
    if len(fitting) != 1:
        raise PippinError(
            f"{rows.origin}: which column is the text? It has {listed(rows.names)}, and the model's folder does "
            "not say (no run.json). Add --text_column NAME, or NAME,NAME for pairs of texts."
        )
    say(f"text from {' and '.join(fitting[0])}; --text_column names another")
    return fitting[0]


def reads_words(rows: TableStream, columns: tuple[str, ...], predictor: Predictor) -> bool:
    """Whether the rows are lists of words, for a model that tags words."""
    if predictor.task.reads != "every token" or not rows.rows:
        return False
    first = next(iter(next(rows.parts()).columns[columns[0]]), None)
    return isinstance(first, (list, tuple))


def to_label(
    tables: Iterable[Table], names: tuple[str, ...], words: bool, max_length: int
) -> Iterator[tuple[tuple[Table, list[int]], Examples]]:
    """Of each table the rows that have a text, as examples; with it the table and the places of these rows.

    ``words``: whether the rows are lists of words.
    """
    if words:
        yield from _lists_to_label(tables, names[0])
        return
    # A text of megabytes would keep the tokenizer busy for minutes, only to be cut. No token is this long.
    most = 1000 * max_length
    for table in tables:
        columns = [_texts(table, name) for name in names]
        filled = [place for place, row in enumerate(zip(*columns, strict=True)) if all(row)]
        texts, *others = [[column[place].lstrip()[:most] for place in filled] for column in columns]
        rows = [table.first + place + 1 for place in filled]
        yield (table, filled), Examples(texts, pairs_of(others), None, rows, table.origin)


def _lists_to_label(tables: Iterable[Table], name: str) -> Iterator[tuple[tuple[Table, list[int]], Examples]]:
    for table in tables:
        cells = table.columns[name]
        for place, cell in enumerate(cells):
            if cell and not (isinstance(cell, (list, tuple)) and all(isinstance(each, str) for each in cell)):
                raise PippinError(f"{table.where(place)}: column {name!r} holds {shown(cell)}, not a list of words.")
        filled = [place for place, cell in enumerate(cells) if cell]
        rows = [table.first + place + 1 for place in filled]
        yield (
            (table, filled),
            WordExamples([join_words(cells[place]) for place in filled], None, None, rows, table.origin),
        )


def _texts(table: Table, name: str) -> list[str]:
    """The cells of a column as texts, "" for those that hold nothing."""
    texts: list[Any] = []
    for place, cell in enumerate(table.columns[name]):
        texts.append("" if is_missing(cell) else cell if isinstance(cell, (list, tuple, dict, bytes)) else str(cell))
        problem = text_problem(texts[-1])
        if texts[-1] != "" and problem:
            raise PippinError(f"{table.where(place)}: column {name!r} {problem}. Correct it, or name another column.")
    return texts
