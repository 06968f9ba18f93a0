"""Running a model over encoded rows without training it: batches in order of length, results in order of input."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from pippin.data.batches import Batch, collate, evaluation_order, fixed_order
from pippin.data.encoding import Encoded
from pippin.data.labels import Labels
from pippin.data.tasks import Task
from pippin.failures.work import repeatable
from pippin.machine.backends.base import Backend
from pippin.training.losses import Loss
from pippin.training.metrics import decide, score

#: Rows of a batch where nobody asks for a number.
MOST_ROWS = 256


@dataclass(frozen=True)
class Inference:
    """A model on a device, ready to give logits."""

    model: torch.nn.Module
    backend: Backend
    precision: str = "fp32"
    pad_lengths: tuple[int, ...] = ()
    """Where there are any, batches have few shapes: these lengths, and a few numbers of rows for each."""
    most_rows: int | None = None
    """Most rows of a batch; None: MOST_ROWS."""

    def logits(self, encoded: Encoded, on_rows: Callable[[int], None] | None = None) -> tuple[np.ndarray, int]:
        """The logits of every row in input order, and the number of batches that it took."""
        was_training = self.model.training
        self.model.eval()
        results: np.ndarray | None = None
        batches = 0
        with torch.inference_mode(), self.backend.autocast(self.precision):
            for rows, size in self._order(encoded.lengths):
                # Rows come again to fill the batch's shape; their second answers are dropped.
                batch = collate(encoded, np.resize(rows, size), self.pad_lengths)
                with repeatable(self._repeat, batch):
                    logits = self._run(batch)[: len(rows)]
                if results is None:
                    results = np.empty((len(encoded), logits.shape[1]), dtype=np.float32)
                results[rows] = logits
                batches += 1
                if on_rows:
                    on_rows(len(rows))
        self.model.train(was_training)
        assert results is not None
        return results, batches

    def _run(self, batch: Batch) -> np.ndarray:
        inputs = {name: self.backend.to_device(tensor) for name, tensor in batch.inputs.items()}
        return self.model(**inputs).logits.float().cpu().numpy()

    def _repeat(self, batch: Batch) -> None:
        """A batch that failed, once more, for the search for the cause."""
        self.model.eval()
        with torch.inference_mode(), self.backend.autocast(self.precision):
            self._run(batch)

    def _order(self, lengths: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        """The rows of each batch, and the number of rows that the device is shown."""
        most_rows, budget = self.most_rows or MOST_ROWS, self.backend.evaluation_tokens
        if self.pad_lengths:
            return fixed_order(lengths, self.pad_lengths, most_rows, budget)
        return ((rows, len(rows)) for rows in evaluation_order(lengths, most_rows, budget))


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
