"""Predictions as files: rows with label and score, and the tab-separated file that run_glue.py writes."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Any, TextIO

import numpy as np

from pippin.runs.folder import RunFolder
from pippin.runs.names import plain_name
from pippin.tasks.sequence.dataset import Dataset
from pippin.tasks.sequence.labels import Labels

#: A spreadsheet takes a cell that begins so for a formula, and runs it. Apostrophes in front count as a guard.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
#: Probabilities that are held at a time: of many rows and thousands of classes there are gigabytes.
_MOST_PROBABILITIES = 2**22
_PLAIN_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


@dataclass(frozen=True)
class Prediction:
    """One text's answer: a class with its probability, or for regression a number."""

    label: str
    """The class; for regression the number in four decimals."""
    score: float | None
    """The probability of the class; None for regression."""
    value: float | None = None
    """The number in full; None for classes."""


def write_predictions(folder: RunFolder, split: str, data: Dataset, logits: np.ndarray) -> None:
    """Write predictions.csv (predictions-SPLIT.csv for a second split) and predict_results_TASK.txt."""
    answers, scores = label_and_score(logits, data.labels)
    examples = data.test[split]
    suffix = "" if split == "test" else "-" + plain_name(split.removeprefix("test_"))
    text = io.StringIO()
    has_labels = examples.labels is not None
    write = row_writer(text)
    write(["row", *data.columns.text, *(["true_label"] if has_labels else []), "label", "score"])
    for place, row in enumerate(examples.rows):
        pair = [examples.pairs[place]] if examples.pairs is not None else []
        truth = [_truth(examples.labels[place], data.labels)] if examples.labels is not None else []
        write([row, examples.texts[place], *pair, *truth, answers[place], _number(scores[place])])
    folder.write(f"predictions{suffix}.csv", text.getvalue())
    task = plain_name(data.task.name or data.name)
    lines = "".join(f"{place}\t{answer}\n" for place, answer in enumerate(answers))
    folder.write(
        f"predict_results_{task}{'-mm' if split.endswith('mismatched') else ''}.txt",
        "index\tprediction\n" + lines,
    )


def label_and_score(logits: np.ndarray, labels: Labels) -> tuple[list[str], list[float | None]]:
    """Each row's answer, and for classes its probability."""
    if labels.regression:
        return [f"{value:.4f}" for value in logits[:, 0]], [None] * len(logits)
    answers: list[str] = []
    scores: list[float | None] = []
    at_once = max(1, _MOST_PROBABILITIES // max(1, logits.shape[1]))
    for start in range(0, len(logits), at_once):
        some = logits[start : start + at_once]
        shifted = np.exp(some - some.max(axis=1, keepdims=True))
        probabilities = shifted / shifted.sum(axis=1, keepdims=True)
        answers += [labels.names[place] for place in probabilities.argmax(axis=1)]
        scores += probabilities.max(axis=1).tolist()
    return answers, scores


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


def _truth(label: np.generic, labels: Labels) -> str:
    return f"{float(label):g}" if labels.regression else labels.names[int(label)]


def _number(score: float | None) -> str:
    return "" if score is None else f"{score:.6f}"
