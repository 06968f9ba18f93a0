"""Running a model over encoded rows without training it: batches in order of length, answers as they come.

Where a batch does not fit into memory, the rows that are left go in batches of half its size.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from pippin.data.batches import evaluation_order, few_capacities, fixed_order
from pippin.data.collate import Batch, Shapes, token_mask
from pippin.data.encoding import Encoded
from pippin.engine.finite import NoAnswer, require_finite, require_finite_metrics
from pippin.engine.group import SOLO, Group
from pippin.engine.memory import in_batches_that_fit
from pippin.engine.repeatable import repeatable
from pippin.engine.sharded import is_sharded
from pippin.engine.steps.replays import Replays
from pippin.machine.drivers.base import Backend
from pippin.models.network import Network
from pippin.tasks.base import Scorer, Task

#: Takes rows and their logits: a line for each row, or for each of their tokens end to end.
Take = Callable[[np.ndarray, np.ndarray], None]

#: Rows of a batch where nobody asks for a number.
MOST_ROWS = 256
#: Batches from which on recording the work pays.
_WORTH_RECORDING = 6


@dataclass
class Inference:
    """A network that is used, not trained. Where its lengths are planned, batches have few shapes."""

    network: Network
    most_rows: int | None = None
    """Most rows of a batch; None: MOST_ROWS."""
    notice: Callable[..., None] | None = None
    """Hears once that memory ran out (`smaller_evaluation_batches`)."""
    fitting_tokens: int | None = None
    """Most padded tokens of a batch, by what did not fit so far; None: all did."""
    replays: Replays | None = None
    """Where the device records its work."""
    group: Group = SOLO
    """The processes that share the batches."""

    @property
    def backend(self) -> Backend:
        return self.network.backend

    def run(self, encoded: Encoded, take: Take, on_rows: Callable[[int], None] | None = None) -> Answers:
        """Hand the logits of rows to ``take``, some rows at a time; an error where one is NaN.

        Of several processes each is given every so manieth batch, and what is wrong in one is raised in all.
        """
        if self.group.size == 1:
            return self._run_own(encoded, take, on_rows)
        trouble, answers = None, Answers(encoded, take, self.network)
        try:
            answers = self._run_own(encoded, take, on_rows)
        except NoAnswer as error:
            trouble = str(error)
        found = self.group.gather((trouble, answers.batches, answers.largest, answers.largest_row))
        for words, *_ in found:
            if words:
                raise NoAnswer(words)
        answers.batches = sum(batches for _, batches, *_ in found)
        *_, answers.largest, answers.largest_row = max(found, key=lambda each: each[2])
        return answers

    def _run_own(self, encoded: Encoded, take: Take, on_rows: Callable[[int], None] | None) -> Answers:
        model = self.network.model
        was_training = model.training
        model.eval()
        answers = Answers(encoded, take, self.network)
        with torch.inference_mode(), self.backend.own_stream():
            work = in_batches_that_fit(
                self.backend,
                encoded.lengths,
                self._order,
                lambda rows, size: self._answer(encoded, rows, size),
                lambda rows, size: self._shrink(encoded, rows, size),
                self.group.rank,
                self.group.size,
                is_sharded(model),
            )
            for _, (rows, logits, tokens) in work:
                answers.add(rows, logits, tokens)
                if on_rows:
                    on_rows(len(rows))
            answers.fetch()
        model.train(was_training)
        return answers

    def _answer(
        self, encoded: Encoded, rows: np.ndarray, size: int
    ) -> tuple[np.ndarray, torch.Tensor, np.ndarray | None]:
        """The rows in the batch's order, their logits, and for a head that reads every token which are no padding."""
        # Rows come again to fill the batch's shape; their second answers are dropped.
        batch = self._collate(encoded, np.resize(rows, size))
        with repeatable(self._repeat, batch):
            logits = self._run(batch)
        if logits.ndim == 2:
            return batch.rows[: len(rows)], logits[: len(rows)], None
        return batch.rows[: len(rows)], logits.flatten(0, 1), token_mask(batch, len(rows))

    def _shrink(self, encoded: Encoded, rows: np.ndarray, size: int) -> None:
        if is_sharded(self.network.model):  # the others wait for this process's part of each layer
            raise MemoryError("a batch of the evaluation does not fit; lower --per_device_eval_batch_size")
        if self.fitting_tokens is None and self.notice:
            self.notice("smaller_evaluation_batches")
        self.fitting_tokens = self._collate(encoded, np.resize(rows, size)).tokens // 2
        self.replays = None

    def _run(self, batch: Batch) -> torch.Tensor:
        if self.replays is not None and self.replays.can([batch]):
            return self.replays([batch], lambda batches: self.network.logits(batches[0])).float().clone()
        return self.network.logits(batch).float()

    def _collate(self, encoded: Encoded, rows: np.ndarray) -> Batch:
        shapes = self.replays.shapes if self.replays is not None else None
        return replace(self.network.collate, shapes=shapes)(encoded, rows)

    def _plan_replays(self, lengths: np.ndarray) -> None:
        """Shapes for batches like these, where the device records its work and they are many."""
        if self.replays is not None or not (self.backend.traits.captures_steps and self._in_input_order):
            return
        if self.network.collate.targets:  # how many tokens have a label differs from batch to batch
            return
        totals = [lengths[rows].sum() for rows, _ in self._batches(lengths)]
        if len(totals) >= _WORTH_RECORDING:
            rows = len(next(self._batches(lengths))[0])
            self.replays = Replays(self.backend, Shapes(rows, few_capacities(np.array(totals)), int(lengths.max())))

    @property
    def _in_input_order(self) -> bool:
        """Rows that are packed by a kernel of the device need not go with others of their length."""
        return self.network.collate.packs and not self.network.collate.in_groups

    def _repeat(self, batch: Batch) -> None:
        """A batch that failed, once more, for the search for the cause."""
        self.network.model.eval()
        with torch.inference_mode():
            self._run(batch)

    def _order(self, lengths: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        self._plan_replays(lengths)
        return self._batches(lengths)

    def _batches(self, lengths: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        """The rows of each batch, and the number of rows that the device is shown."""
        most_rows, tokens = self.most_rows or MOST_ROWS, self.fitting_tokens or self.backend.traits.evaluation_tokens
        pad_lengths = self.network.collate.pad_lengths
        if pad_lengths:
            return fixed_order(lengths, pad_lengths, most_rows, tokens)
        if self._in_input_order:
            size = max(1, min(most_rows, tokens // int(lengths.max())))
            return ((rows, len(rows)) for rows in np.split(np.arange(len(lengths)), range(size, len(lengths), size)))
        return ((rows, len(rows)) for rows in evaluation_order(lengths, most_rows, tokens))


class Answers:
    """Logits of batches, left on the device for a while, so that it need not wait for each to be fetched."""

    #: Batches between fetches, and numbers.
    _ROOM, _NUMBERS = 64, 2**24

    def __init__(self, encoded: Encoded, take: Take, network: Network) -> None:
        self.encoded, self.take, self.network = encoded, take, network
        self.batches = 0
        self.largest, self.largest_row = -1.0, 0  # the answer that is furthest from nothing, and the row that it is to
        self.waiting: list[tuple[np.ndarray, torch.Tensor, np.ndarray | None]] = []

    def add(self, rows: np.ndarray, logits: torch.Tensor, tokens: np.ndarray | None) -> None:
        self.waiting.append((rows, logits, tokens))
        self.batches += 1
        if len(self.waiting) == self._ROOM or sum(each.numel() for _, each, _ in self.waiting) > self._NUMBERS:
            self.fetch()

    def fetch(self) -> None:
        if not self.waiting:
            return
        rows = np.concatenate([rows for rows, _, _ in self.waiting])
        logits = torch.cat([logits for _, logits, _ in self.waiting]).cpu().numpy()
        lines = rows
        if self.waiting[0][2] is not None:
            logits = logits[np.concatenate([tokens for _, _, tokens in self.waiting if tokens is not None])]
            lines = np.repeat(rows, self.encoded.lengths[rows])
        self.waiting = []
        require_finite(logits, lines, self.encoded, self.network)
        peaks = np.abs(logits).max(axis=1)
        if len(peaks) and peaks.max() > self.largest:
            self.largest, self.largest_row = float(peaks.max()), int(lines[peaks.argmax()])
        self.take(rows, logits)


@dataclass(frozen=True)
class Evaluation:
    metrics: dict[str, float]
    """The task's metrics and the loss, without a prefix."""
    scorer: Scorer
    """What the task kept of the answers."""
    seconds: float
    rows: int
    batches: int

    def results(self, prefix: str, suffix: str = "") -> dict[str, float]:
        """Under Hugging Face's keys: eval_accuracy, eval_runtime, …"""
        figures = {
            **self.metrics,
            "runtime": round(self.seconds, 4),
            "samples_per_second": round(self.rows / self.seconds, 3),
            "steps_per_second": round(self.batches / self.seconds, 3),
            "samples": self.rows,
        }
        return {f"{prefix}_{name}{suffix}": value for name, value in figures.items()}


def score(
    inference: Inference, encoded: Encoded, task: Task, on_rows: Callable[[int], None] | None = None
) -> tuple[Scorer, Answers]:
    """The answers to all rows, in every process."""
    scorer = task.scorer(encoded)
    answers = inference.run(encoded, scorer.add, on_rows)
    if inference.group.size > 1:
        scorer.share(inference.group.total)
    return scorer, answers


def evaluate(
    inference: Inference, encoded: Encoded, task: Task, on_rows: Callable[[int], None] | None = None
) -> Evaluation:
    start = time.perf_counter()
    scorer, answers = score(inference, encoded, task, on_rows)
    seconds = max(time.perf_counter() - start, 1e-9)
    metrics = scorer.metrics()
    require_finite_metrics(metrics, answers.largest, answers.largest_row, encoded, inference.network)
    return Evaluation(metrics, scorer, seconds, len(encoded), answers.batches)
