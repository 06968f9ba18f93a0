"""Running a model over encoded rows without training it: batches in order of length, results in order of input.

Where a batch does not fit into memory, the rows that are left go in batches of half its size.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from pippin.data.batches import evaluation_order, fixed_order
from pippin.data.collate import Batch
from pippin.data.encoding import Encoded
from pippin.data.labels import Labels
from pippin.data.tasks import Task
from pippin.failures.work import repeatable
from pippin.machine.backends.base import Backend
from pippin.models.network import Network
from pippin.training.losses import Loss
from pippin.training.metrics import decide, score

#: Rows of a batch where nobody asks for a number.
MOST_ROWS = 256


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

    @property
    def backend(self) -> Backend:
        return self.network.backend

    def logits(self, encoded: Encoded, on_rows: Callable[[int], None] | None = None) -> tuple[np.ndarray, int]:
        """The logits of every row in input order, and the number of batches that it took."""
        model = self.network.model
        was_training = model.training
        model.eval()
        answers: list[tuple[np.ndarray, np.ndarray]] = []
        left = np.arange(len(encoded))
        with torch.inference_mode():
            while len(left):
                for rows, logits in self._while_it_fits(encoded, left):
                    answers.append((rows, logits))
                    if on_rows:
                        on_rows(len(rows))
                left = np.setdiff1d(left, np.concatenate([rows for rows, _ in answers] or [left[:0]]))
        model.train(was_training)
        results = np.empty((len(encoded), answers[0][1].shape[1]), dtype=np.float32)
        for rows, logits in answers:
            results[rows] = logits
        return results, len(answers)

    def _while_it_fits(self, encoded: Encoded, left: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Batch by batch the rows and their logits; ends early at a batch that must be smaller."""
        for places, size in self._order(encoded.lengths[left]):
            rows = left[places]
            # Rows come again to fill the batch's shape; their second answers are dropped.
            batch = self.network.collate(encoded, np.resize(rows, size))
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
        self.fitting_tokens = tokens
        gc.collect()
        self.backend.empty_cache()

    def _run(self, batch: Batch) -> np.ndarray:
        return self.network.logits(batch).float().cpu().numpy()

    def _repeat(self, batch: Batch) -> None:
        """A batch that failed, once more, for the search for the cause."""
        self.network.model.eval()
        with torch.inference_mode():
            self._run(batch)

    def _order(self, lengths: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        """The rows of each batch, and the number of rows that the device is shown."""
        most_rows, tokens = self.most_rows or MOST_ROWS, self.fitting_tokens or self.backend.evaluation_tokens
        pad_lengths = self.network.collate.pad_lengths
        if pad_lengths:
            return fixed_order(lengths, pad_lengths, most_rows, tokens)
        return ((rows, len(rows)) for rows in evaluation_order(lengths, most_rows, tokens))


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
    return Evaluation(metrics, predictions, encoded.labels, logits, seconds, len(encoded), batches)
