"""Predictions as files: rows with label and score, and the tab-separated file that run_glue.py writes."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Sequence
from itertools import chain, count
from typing import Any, TextIO

from pippin.runs.folder import RunFolder
from pippin.runs.names import plain_name
from pippin.tasks.base import Dataset, Prediction, Scorer

#: A spreadsheet takes a cell that begins so for a formula, and runs it. Apostrophes in front count as a guard.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_PLAIN_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def write_predictions(folder: RunFolder, split: str, data: Dataset, scorer: Scorer, has_labels: bool) -> None:
    """Write predictions.csv (predictions-SPLIT.csv for a second split) and predict_results_TASK.txt."""
    examples = data.test[split]
    suffix = "" if split == "test" else "-" + plain_name(split.removeprefix("test_"))
    rows, lines = io.StringIO(), io.StringIO()
    write = row_writer(rows)
    truths = [scorer.truths()] if has_labels else []
    write(["row", *data.columns.text, *["true_label" for _ in truths], "label", "score"])
    lines.write("index\tprediction\n")
    texts = [examples.texts, *([examples.pairs] if examples.pairs is not None else [])]
    given = zip(examples.rows, *texts, *truths, strict=True)
    for place, (cells, answer) in enumerate(zip(given, scorer.predictions_of_rows(), strict=True)):
        write([*cells, answer.label, _number(answer.score)])
        lines.write(f"{place}\t{answer.label}\n")
    folder.write(f"predictions{suffix}.csv", rows.getvalue())
    task = plain_name(data.task.name or data.name)
    folder.write(f"predict_results_{task}{'-mm' if split.endswith('mismatched') else ''}.txt", lines.getvalue())


class LabelledWriter:
    """Writes rows with label and score added, some at a time; rows without an answer get none."""

    def __init__(self, file: TextIO, suffix: str, columns: Sequence[str]):
        self._file, self._columns = file, columns
        self._added = _free_name("label", columns), _free_name("score", columns)
        self._write = self._write_objects if suffix == ".jsonl" else self._write_cells
        self._write_row = row_writer(file)
        self._has_header = False

    def write(self, columns: dict[str, list[Any]], answers: Sequence[Prediction | None]) -> None:
        """Write some rows. The names of the columns come with the first, so what fails before leaves nothing."""
        for cells, answer in zip(zip(*columns.values(), strict=True), answers, strict=True):
            self._write(cells, answer)

    def _write_objects(self, cells: Sequence[Any], answer: Prediction | None) -> None:
        row = dict(zip((*self._columns, *self._added), (*cells, *_plain(answer)), strict=True))
        self._file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")

    def _write_cells(self, cells: Sequence[Any], answer: Prediction | None) -> None:
        if not self._has_header:
            self._write_row([*self._columns, *self._added])
            self._has_header = True
        self._write_row([*cells, answer.label if answer else "", _number(answer.score if answer else None)])


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


def _plain(answer: Prediction | None) -> tuple[str | float | None, float | None]:
    """Label and score as JSON has them: a number as a number, nothing as null."""
    if answer is None:
        return None, None
    return answer.label if answer.value is None else answer.value, answer.score


def _free_name(name: str, taken: Collection[str]) -> str:
    """A name for a new column that the input does not use already.

    >>> _free_name("label", ["text", "label", "predicted_label"])
    'predicted_label_2'
    """
    numbered = (f"predicted_{name}_{number}" for number in count(2))
    return next(free for free in chain([name, f"predicted_{name}"], numbered) if free not in taken)


def _number(score: float | None) -> str:
    return "" if score is None else f"{score:.6f}"
