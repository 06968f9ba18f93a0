"""Predictions as files: rows with their answers, and the tab-separated file that run_glue.py writes."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count
from typing import Any, TextIO, TypeAlias

import numpy as np

from pippin.models.labels import Labels
from pippin.runs.folder import RunFolder
from pippin.runs.names import plain_name
from pippin.tasks.base import Dataset, Prediction, Scorer
from pippin.tasks.class_scores import likeliest

#: A spreadsheet takes a cell that begins so for a formula, and runs it. Apostrophes in front count as a guard.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_PLAIN_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


#: What answers a row: a prediction, or the probability of each class.
Answer: TypeAlias = "Prediction | np.ndarray"


def write_predictions(folder: RunFolder, split: str, data: Dataset, scorer: Scorer, has_labels: bool) -> None:
    """Write predictions.csv (predictions-SPLIT.csv for a second split) and predict_results_TASK.txt."""
    examples = data.test[split]
    suffix = "" if split == "test" else "-" + plain_name(split.removeprefix("test_"))
    rows, lines = io.StringIO(), io.StringIO()
    write, added = row_writer(rows), AnswerColumns(data.labels)
    truths = {f"true_{added.names[0]}": scorer.truths()} if has_labels else {}
    write(["row", *data.columns.text, *truths, *added.names])
    lines.write("index\tprediction\n")
    texts = [examples.texts, *([examples.pairs] if examples.pairs is not None else [])]
    given = zip(examples.rows, *texts, *truths.values(), strict=True)
    for place, (cells, answer) in enumerate(zip(given, scorer.predictions_of_rows(), strict=True)):
        write([*cells, *added.cells(answer)])
        lines.write(f"{place}\t{answer}\n")
    folder.write(f"predictions{suffix}.csv", rows.getvalue())
    task = plain_name(data.task.name or data.name)
    folder.write(f"predict_results_{task}{'-mm' if split.endswith('mismatched') else ''}.txt", lines.getvalue())


class AnswerColumns:
    """What answers add to a row: label and score, of several classes where asked for, or the value of a number."""

    def __init__(self, labels: Labels, top_k: int | None = None, all_scores: bool = False):
        self.labels, self.top_k, self.all_scores = labels, top_k, all_scores
        self.count = min(top_k or 1, max(len(labels.names), 1))
        self.needs_scores = top_k is not None or all_scores

    @property
    def names(self) -> list[str]:
        """The columns of a file that has columns."""
        if self.labels.regression:
            return ["value"]
        others = [f"{name}_{place}" for place in range(2, self.count + 1) for name in ("label", "score")]
        return ["label", "score", *others, *self._score_names]

    @property
    def keys(self) -> list[str]:
        """The keys of an object, which can hold a list."""
        return self.names if self.top_k is None else ["label", "score", "top"]

    @property
    def _score_names(self) -> list[str]:
        return [f"score_{name}" for name in self.labels.names] if self.all_scores else []

    def cells(self, answer: Answer | None) -> list[str]:
        """The cells of one row; empty ones where there is no answer."""
        if answer is None:
            return [""] * len(self.names)
        if self.labels.regression:
            return [f"{value:.7g}" for value in self._plain(answer)]
        return [f"{cell:.6f}" if isinstance(cell, float) else str(cell or "") for cell in self._plain(answer)]

    def values(self, answer: Answer | None) -> list[Any]:
        """The values of one object, as JSON has them; null where there is no answer."""
        if answer is None:
            return [None] * len(self.keys)
        plain = self._plain(answer)
        if self.top_k is None:
            return plain
        top = [{"label": label, "score": score} for label, score in zip(plain[::2], plain[1::2], strict=True)]
        return [*plain[:2], top]

    def _plain(self, answer: Answer) -> list[Any]:
        if isinstance(answer, Prediction):
            return [answer.value] if self.labels.regression else [answer.label, answer.score]
        best = likeliest(answer, self.count, self.labels)
        pairs = [cell for each in best for cell in (each.label, each.score)]
        return [*pairs, *(answer.tolist() if self.all_scores else ())]


class LabelledWriter:
    """Writes rows with their answers added, some at a time; rows without an answer get empty cells."""

    def __init__(self, file: TextIO, suffix: str, columns: Sequence[str], added: AnswerColumns):
        self._file, self._columns, self._added = file, columns, added
        is_jsonl = suffix == ".jsonl"
        self._names = _free_names(added.keys if is_jsonl else added.names, columns)
        self._write = self._write_objects if is_jsonl else self._write_cells
        self._write_row = row_writer(file)
        self._has_header = False

    def write(self, columns: dict[str, list[Any]], answers: Sequence[Answer | None]) -> None:
        """Write some rows. The names of the columns come with the first, so what fails before leaves nothing."""
        for cells, answer in zip(zip(*columns.values(), strict=True), answers, strict=True):
            self._write(cells, answer)

    def _write_objects(self, cells: Sequence[Any], answer: Answer | None) -> None:
        row = dict(zip((*self._columns, *self._names), (*cells, *self._added.values(answer)), strict=True))
        self._file.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")

    def _write_cells(self, cells: Sequence[Any], answer: Answer | None) -> None:
        if not self._has_header:
            self._write_row([*self._columns, *self._names])
            self._has_header = True
        self._write_row([*cells, *self._added.cells(answer)])


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
