"""Running a model over encoded rows without training it: batches in order of length, results in order of input.

Where a batch does not fit into memory, the rows that are left go in batches of half its size.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from pippin.data.batches import evaluation_order, few_capacities, fixed_order
from pippin.data.collate import Batch, Shapes
from pippin.data.encoding import Encoded
from pippin.engine.finite import require_finite, require_finite_metrics
from pippin.engine.repeatable import repeatable
from pippin.engine.steps.replays import Replays
from pippin.machine.drivers.base import Backend
from pippin.models.network import Network
from pippin.tasks.sequence.known import Task
from pippin.tasks.sequence.labels import Labels
from pippin.tasks.sequence.loss import Loss
from pippin.tasks.sequence.metrics import decide, score

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

    @property
    def backend(self) -> Backend:
        return self.network.backend

    def logits(self, encoded: Encoded, on_rows: Callable[[int], None] | None = None) -> tuple[np.ndarray, int]:
        """The logits of every row in input order, and the number of batches that it took; an error where one is NaN."""
        model = self.network.model
        was_training = model.training
        model.eval()
        answers = _Answers(lambda rows, logits: require_finite(logits, rows, encoded, self.network))
        left = np.arange(len(encoded))
        with torch.inference_mode(), self.backend.own_stream():
            while len(left):
                self._plan_replays(encoded.lengths[left])
                for rows, logits in self._while_it_fits(encoded, left):
                    answers.add(rows, logits)
                    if on_rows:
                        on_rows(len(rows))
                left = np.setdiff1d(left, answers.rows())
            found = answers.take(len(encoded))
        model.train(was_training)
        return found, answers.batches

    def _while_it_fits(self, encoded: Encoded, left: np.ndarray) -> Iterator[tuple[np.ndarray, torch.Tensor]]:
        """Batch by batch the rows and their logits; ends early at a batch that must be smaller."""
        for places, size in self._order(encoded.lengths[left]):
            rows = left[places]
            # Rows come again to fill the batch's shape; their second answers are dropped.
            batch = self._collate(encoded, np.resize(rows, size))
            try:
                with repeatable(self._repeat, batch):
                    logits = self._run(batch)[: len(rows)]
            except (RuntimeError, MemoryError) as error:
                if not self.backend.is_out_of_memory(error) or size == 1:
                    raise
                logits = None
            if logits is None:  # only now is what the error held free
                self._shrink(batch.tokens // 2)
                return
            yield batch.rows[: len(rows)], logits

    def _shrink(self, tokens: int) -> None:
        if self.fitting_tokens is None and self.notice:
            self.notice("smaller_evaluation_batches")
        self.fitting_tokens, self.replays = tokens, None
        gc.collect()
        self.backend.empty_cache()

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
        totals = [lengths[rows].sum() for rows, _ in self._order(lengths)]
        if len(totals) >= _WORTH_RECORDING:
            rows = len(next(self._order(lengths))[0])
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
        """The rows of each batch, and the number of rows that the device is shown."""
        most_rows, tokens = self.most_rows or MOST_ROWS, self.fitting_tokens or self.backend.traits.evaluation_tokens
        pad_lengths = self.network.collate.pad_lengths
        if pad_lengths:
            return fixed_order(lengths, pad_lengths, most_rows, tokens)
        if self._in_input_order:
            size = max(1, min(most_rows, tokens // int(lengths.max())))
            return ((rows, len(rows)) for rows in np.split(np.arange(len(lengths)), range(size, len(lengths), size)))
        return ((rows, len(rows)) for rows in evaluation_order(lengths, most_rows, tokens))


class _Answers:
    """Logits of batches, left on the device for a while, so that it need not wait for each to be fetched."""

    #: Batches between fetches.
    _ROOM = 64

    def __init__(self, check: Callable[[np.ndarray, np.ndarray], None]) -> None:
        self.check = check
        """Hears of rows and their logits as they are fetched, when looking at them costs nothing."""
        self.batches = 0
        self.waiting: list[tuple[np.ndarray, torch.Tensor]] = []
        self.fetched: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, rows: np.ndarray, logits: torch.Tensor) -> None:
        self.waiting.append((rows, logits))
        self.batches += 1
        if len(self.waiting) == self._ROOM:
            self._fetch()

    def rows(self) -> np.ndarray:
        """All rows that were answered."""
        self._fetch()
        return np.concatenate([rows for rows, _ in self.fetched] or [np.array([], dtype=np.int64)])

    def take(self, count: int) -> np.ndarray:
        """The logits of all rows, in their order."""
        self._fetch()
        results = np.empty((count, self.fetched[0][1].shape[1]), dtype=np.float32)
        for rows, logits in self.fetched:
            results[rows] = logits
        return results

    def _fetch(self) -> None:
        if self.waiting:
            rows = np.concatenate([rows for rows, _ in self.waiting])
            logits = torch.cat([logits for _, logits in self.waiting]).cpu().numpy()
            self.check(rows, logits)
            self.fetched.append((rows, logits))
            self.waiting = []


@dataclass(frozen=True)
class Evaluation:
    """What came out of one evaluation."""

    metrics: dict[str, float]
    """The task's metrics and the loss, without a prefix."""
    predictions: np.ndarray
    truth: np.ndarray
    logits: np.ndarray
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


def evaluate(
    inference: Inference,
    encoded: Encoded,
    task: Task,
    labels: Labels,
    loss: Loss,
    on_rows: Callable[[int], None] | None = None,
) -> Evaluation:
    """Score a model on labelled rows."""
    assert encoded.labels is not None
    start = time.perf_counter()
    logits, batches = inference.logits(encoded, on_rows)
    seconds = max(time.perf_counter() - start, 1e-9)
    predictions = decide(logits, labels)
    metrics = score(task, predictions, encoded.labels)
    metrics["loss"] = float(loss(torch.from_numpy(logits), torch.from_numpy(encoded.labels))) / len(encoded)
    require_finite_metrics(metrics, logits, encoded, inference.network)
    return Evaluation(metrics, predictions, encoded.labels, logits, seconds, len(encoded), batches)
