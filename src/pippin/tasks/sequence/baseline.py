"""The simplest answer to every row, what it would score, and a plain word where a model does no better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pippin.data.tables import listed
from pippin.tasks.base import Baseline
from pippin.tasks.sequence.metrics import score

if TYPE_CHECKING:
    from pippin.tasks.sequence.task import SequenceTask

_LONGEST_NAME = 60
#: On fewer rows a model may well do no better by chance.
_FEWEST_ROWS = 5
#: Answers that spread by less than this share of what they should are the same number to a person.
_SAME_NUMBER = 0.01
#: Numbers further from zero than this are hard to reach in small steps.
_FAR_FROM_ZERO = 10.0
_RATE = "another learning rate (--lr): higher if the training loss hardly fell, lower if it jumped up and down"


def baseline_of(task: SequenceTask, reference: np.ndarray, truth: np.ndarray) -> Baseline:
    """Always the most frequent class of ``reference``, or its mean, judged on ``truth``."""
    if task.regression:
        mean = float(np.mean(reference, dtype=float))
        return Baseline(f"always answering the mean, {mean:.4g}", score(task, np.full(len(truth), mean), truth))
    common = int(np.bincount(reference).argmax())
    return Baseline(f"always answering {_quoted(task, common)}", score(task, np.full(len(truth), common), truth))


def remarks_on(
    task: SequenceTask, predictions: np.ndarray, truth: np.ndarray, split: str, baseline: Baseline
) -> list[str]:
    """What nobody should miss in these answers; nothing where there is too little to judge by."""
    found, metrics = [], score(task, predictions, truth)
    if lacking := [name for name in task.metrics if name not in metrics]:
        left_out = f"{listed(lacking)} {'is' if len(lacking) == 1 else 'are'} not defined and left out"
        rows = f"all {split} rows have" if len(truth) > 1 else f"the only {split} row has"
        found.append(f"{rows} the number {truth[0]:g}: {left_out}.")
    if not len(truth) or np.ptp(truth) == 0:
        return found
    name, more = task.main_metric, "more rows"
    reached, easy = metrics[name], baseline.metrics[name]
    if always := _one_answer(task, predictions, truth):
        said = f"the model answers {always} to all {len(truth)} {split} rows, whatever they say."
        more = "more rows of the other classes"
    elif len(truth) < _FEWEST_ROWS:
        return found
    elif reached >= easy if name in task.lower_is_better else reached <= easy:
        said = f"{name} {reached:.4f} on the {split} rows is no better than {baseline.answer} ({easy:.4f})."
    else:
        return found
    if task.regression:
        far = abs(np.mean(truth, dtype=float)) > _FAR_FROM_ZERO
        more = "numbers scaled to between 0 and 1, more rows" if far else "more rows"
    return [*found, f"{said} Try {more}, more epochs (--epochs), or {_RATE}."]


def _one_answer(task: SequenceTask, predictions: np.ndarray, truth: np.ndarray) -> str:
    """The answer that all rows get, in words; empty where they get several."""
    if not task.regression:
        return _quoted(task, predictions[0]) if (predictions == predictions[0]).all() else ""
    same = np.std(predictions, dtype=float) < _SAME_NUMBER * np.std(truth, dtype=float)
    return f"about {np.mean(predictions, dtype=float):.4g}" if same else ""


def _quoted(task: SequenceTask, answer: int) -> str:
    name = task.labels.names[answer]
    return f'"{name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"}"'
