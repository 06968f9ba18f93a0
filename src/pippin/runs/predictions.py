"""Predictions as files: rows with their answers, and the tab-separated file that run_glue.py writes."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count
from typing import Any, TextIO

from pippin.data.examples import WordExamples
from pippin.runs.folder import RunFolder
from pippin.runs.names import plain_name
from pippin.tasks.base import Answer, AnswerColumns, Dataset, Prediction, Scorer

#: A spreadsheet takes a cell that begins so for a formula, and runs it. Apostrophes in front count as a guard.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_PLAIN_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def write_predictions(folder: RunFolder, split: str, data: Dataset, scorer: Scorer, has_labels: bool) -> None:
    """Write predictions.csv (predictions-SPLIT.csv for a second split) and predict_results_TASK.txt."""
    examples = data.test[split]
    suffix = "" if split == "test" else "-" + plain_name(split.removeprefix("test_"))
    rows, lines = io.StringIO(), io.StringIO()
    write, added = row_writer(rows), data.task.answer_columns(words=isinstance(examples, WordExamples))
    truths = {f"true_{added.names[0]}": scorer.truths()} if has_labels else {}
    write(["row", *data.columns.text, *truths, *added.names])
    lines.write("index\tprediction\n")
    given = zip(examples.rows, *examples.columns, *truths.values(), strict=True)
    for place, (cells, answer) in enumerate(zip(given, scorer.predictions_of_rows(), strict=True)):
        write([*cells, *added.cells(answer)])
        lines.write(f"{place}\t{answer}\n")
    folder.write(f"predictions{suffix}.csv", rows.getvalue())
    task = plain_name(data.task.name or data.name)
    folder.write(f"predict_results_{task}{'-mm' if split.endswith('mismatched') else ''}.txt", lines.getvalue())


class LabelledWriter:
    """Writes rows with their answers added, some at a time; rows without an answer get empty cells."""

    def __init__(self, file: TextIO, suffix: str, columns: Sequence[str], added: AnswerColumns):
        self._file, self._columns, self._added = file, columns, added
        is_jsonl = suffix == ".jsonl"
        self._names = _free_names(added.keys if is_jsonl else added.names, columns)
        self._write = self._write_objects if is_jsonl else self._write_cells
        self._write_row = row_writer(file)
        self._has_header = False

    def write(self, columns: dict[str, list[Any]], answers: Sequence[Any]) -> None:
        """Write some rows. The names of the columns come with the first, so what fails before leaves nothing."""
        for cells, answer in zip(zip(*columns.values(), strict=True), answers, strict=True):
            self._write(cells, answer)

    def finish(self) -> None:
        """Nothing stands after the last row."""

    def _write_objects(self, cells: Sequence[Any], answer: Answer | None) -> None:
        row = dict(zip((*self._columns, *self._names), (*cells, *self._added.values(answer)), strict=True))
        self._file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")

    def _write_cells(self, cells: Sequence[Any], answer: Answer | None) -> None:
        if not self._has_header:
            self._write_row([*self._columns, *self._names])
            self._has_header = True
        self._write_row([*cells, *self._added.cells(answer)])


class ConllWriter:
    """Writes the lines of a CoNLL file as they are, with a column more on those of words: the tag that was found."""

    def __init__(self, file: TextIO, lines: Iterable[str], column: str):
        """``lines`` are those of the file that is read; ``column`` is that of the words."""
        self._file, self._lines, self._column = file, enumerate(lines, 1), column

    def write(self, columns: dict[str, list[Any]], answers: Sequence[Answer | None]) -> None:
        for words, answer in zip(columns[self._column], answers, strict=True):
            tags = answer.tags if isinstance(answer, Prediction) and answer.tags else ("",) * len(words)
            self._copy(dict(zip(words.lines, tags, strict=True)), words.lines[-1])

    def finish(self) -> None:
        """The lines after the last word."""
        for _, line in self._lines:
            self._file.write(line)

    def _copy(self, tags: dict[int, str], last: int) -> None:
        for number, line in self._lines:
            if number in tags:
                text = line.rstrip("\r\n")
                between = "\t" if "\t" in text else " "
                line = f"{text.rstrip()}{between}{tags[number]}{line[len(text) :]}"
            self._file.write(line)
            if number == last:
                return


def row_writer(file: TextIO) -> Callable[[Sequence[Any]], None]:
    """Writes lines of CSV that no spreadsheet runs: what it would take for a formula gets an apostrophe in front."""
    plain = csv.writer(file, lineterminator="\n")
    # Python before 3.13 leaves a lone carriage return unquoted, and what follows it would begin a row.
    all_in_quotes = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)

    def write(cells: Sequence[Any]) -> None:
        returns = any(isinstance(cell, str) and "\r" in cell for cell in cells)
        (all_in_quotes if returns else plain).writerow([inert(cell) for cell in cells])

    return write


def inert(cell: Any) -> Any:
    """A cell that a spreadsheet shows and does not run. Numbers stay numbers.

    One apostrophe is added, also where some are there already, so that different texts stay different: taking one
    off again gives the text.

    >>> [inert(cell) for cell in ("=1+1", "-1.5", -1.5, "- no", "'=1+1", "it's")]
    ["'=1+1", '-1.5', -1.5, "'- no", "''=1+1", "it's"]
    """
    if isinstance(cell, (list, tuple, dict, bytes)):
        cell = str(cell)
    if not isinstance(cell, str) or not _FORMULA.match(cell) or _PLAIN_NUMBER.fullmatch(cell):
        return cell
    return "'" + cell


def _free_names(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Names for new columns that the input does not use already.

    >>> _free_names(["label", "score"], ["text", "label", "predicted_label"])
    ['predicted_label_2', 'score']
    """
    used, found = set(taken), []
    for name in names:
        numbered = (f"predicted_{name}_{number}" for number in count(2))
        found.append(next(free for free in chain([name, f"predicted_{name}"], numbered) if free not in used))
        used.add(found[-1])
    return found
