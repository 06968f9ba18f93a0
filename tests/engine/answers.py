"""All logits of a model at once, which Pippin itself never holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pippin.data.encoding import Encoded
from pippin.engine.inference import Inference


def all_logits(
    inference: Inference, encoded: Encoded, on_rows: Callable[[int], None] | None = None
) -> tuple[np.ndarray, int]:
    """In the order of the rows, and the number of batches that it took."""
    found: dict[int, np.ndarray] = {}

    def take(rows: np.ndarray, logits: np.ndarray) -> None:
        assert not found.keys() & set(rows.tolist()), "each row is answered once"
        found.update(zip(rows.tolist(), logits, strict=True))

    batches = inference.run(encoded, take, on_rows).batches
    return np.stack([found[row] for row in range(len(encoded))]), batches
