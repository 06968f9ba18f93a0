"""What a run learnt from, as plain data: enough to use the model again on new rows, and to show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pippin.data.batches import padded_lengths, training_order
from pippin.data.encoding import Encoded, EncodedSplits
from pippin.plan.layout import PACKED
from pippin.plan.plan import Plan
from pippin.tasks.base import Baseline, Command, Dataset, Task
from pippin.tasks.parts import Part

#: Bars of the chart of lengths.
_MOST_BINS = 24


@dataclass(frozen=True)
class LengthBin:
    """Training rows of about one length."""

    shortest: int
    """In tokens."""
    longest: int
    rows: int


@dataclass(frozen=True)
class DataCard:
    name: str
    task: str | None
    text_columns: tuple[str, ...]
    label_column: str
    kind: str
    """What is learnt: `6 classes`."""
    classes: tuple[str, ...]
    pipeline: str
    """The Hub's word for what the model does."""
    rows: dict[str, int]
    """Rows of each split."""
    columns_reason: str
    parts: tuple[Part, ...] = ()
    """What the task shows of the training rows."""
    lengths: tuple[LengthBin, ...] = ()
    """Of the training rows."""
    cut: int = 0
    """Texts that were longer than the longest input."""
    padding: float = 0.0
    """Share of the tokens of an epoch that are padding."""
    baselines: dict[str, float] = field(default_factory=dict)
    """What the simplest answer to every row would score, under the keys of the results: `eval_accuracy`."""
    baseline_answer: str = ""
    """That answer in words: `always answering "common"`."""
    gives: str = ""
    """What a row is answered with: `one of 6 classes`."""
    pipeline_options: str = ""
    """What transformers' pipeline must be told."""
    command: Command = "predict"
    """Pippin's command that uses the model, with its flags."""


def data_card(data: Dataset, rows: EncodedSplits, plan: Plan) -> DataCard:
    splits = {"train": data.train, **data.validation, **data.test}
    judged = baselines(data.task, rows)
    return DataCard(
        name=data.name,
        task=data.task.name,
        text_columns=data.columns.text,
        label_column=data.columns.label,
        kind=data.task.kind,
        classes=data.labels.names,
        pipeline=data.task.pipeline,
        rows={name: len(split) for name, split in splits.items() if split is not None},
        columns_reason=data.columns.reason,
        parts=data.task.data_parts(data.train, rows.train) if data.train and rows.train else (),
        lengths=_bins(rows.train.lengths) if rows.train else (),
        cut=sum(split.cut for split in rows.all()),
        padding=round(_padding(plan, rows.train), 4) if rows.train else 0.0,
        baselines=baseline_scores(judged),
        baseline_answer=next((each.answer for each in judged.values()), ""),
        gives=data.task.gives,
        pipeline_options=data.task.pipeline_options,
        command=data.task.command,
    )


def baselines(task: Task, rows: EncodedSplits) -> dict[tuple[str, str], Baseline]:
    """The simplest answer to every row, judged on each split that has labels; by `eval` or `test` and its name."""
    splits = [(("eval", name), each) for name, each in rows.validation.items()]
    splits += [(("test", name), each) for name, each in rows.test.items()]
    labelled = {place: each for place, each in splits if each.labels is not None}
    reference = rows.train or next(iter(labelled.values()), None)
    return {place: task.scorer(each).baseline(reference) for place, each in labelled.items() if reference}


def baseline_scores(judged: Mapping[tuple[str, str], Baseline]) -> dict[str, float]:
    """Under the keys of the results."""
    return {
        f"{prefix}_{name}{metric_suffix(split)}": value
        for (prefix, split), baseline in judged.items()
        for name, value in baseline.metrics.items()
    }


def metric_suffix(split: str) -> str:
    """What the keys of a split's results end in: `_mm` those of MNLI's second set."""
    return "_mm" if split.endswith("_mismatched") else ""


def _bins(lengths: np.ndarray) -> tuple[LengthBin, ...]:
    """Few stretches of equal width from the shortest row to the longest."""
    shortest, longest = int(lengths.min()), int(lengths.max())
    width = -(-(longest - shortest + 1) // _MOST_BINS)
    starts = range(shortest, longest + 1, width)
    counts = np.bincount((lengths - shortest) // width, minlength=len(starts))
    return tuple(LengthBin(start, start + width - 1, int(count)) for start, count in zip(starts, counts, strict=True))


def _padding(plan: Plan, train: Encoded) -> float:
    if plan.execution.layout.value == PACKED:
        return 0.0
    lengths = train.lengths
    order = training_order(
        lengths, plan.batches.micro_batch.value, plan.batches.batching.value, plan.batches.order_seed, epoch=0
    )
    longest = np.array([lengths[batch].max() for batch in order])
    padded = (padded_lengths(longest, plan.batches.pad_lengths.value) * [len(batch) for batch in order]).sum()
    return float(1 - lengths.sum() / padded)
