"""Losses, gradients and weights that are no numbers, told with the step, its rows and the likely causes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from pippin.data.examples import Examples
from pippin.errors import PippinError

#: Most row numbers in a message.
_MOST_ROWS = 32


@dataclass(frozen=True)
class NotFinite:
    """Makes the error that ends a run whose numbers are no numbers any more."""

    examples: Examples
    """What is trained on."""
    regression: bool
    precision: str

    def __call__(self, what: str, step: int, rows: np.ndarray) -> PippinError:
        """``what``: loss, gradient or weights. ``rows``: places of the step's rows in the training split."""
        places = np.sort(rows)
        causes = "; ".join(self._causes(what, step, places))
        return PippinError(
            f"training stopped: the {what} of step {step} {'are' if what == 'weights' else 'is'} not finite (NaN or "
            f"infinity). Rows of that step in {self.examples.origin}: {self._numbers(places)}. Likely causes: {causes}."
        )

    def _numbers(self, places: np.ndarray) -> str:
        shown = ", ".join(str(self.examples.rows[place]) for place in places[:_MOST_ROWS])
        return f"{shown} and {len(places) - _MOST_ROWS} more" if len(places) > _MOST_ROWS else shown

    def _causes(self, what: str, step: int, places: np.ndarray) -> list[str]:
        causes = ["a learning rate that is too high: try a tenth with --learning_rate"]
        if step == 1 and what == "loss":  # no weight has changed yet
            causes = ["a model with broken weights: take another --model_name_or_path; too much --neftune_noise_alpha"]
        if self.precision == "fp16":
            causes.append("numbers beyond float16's range: use --bf16 instead of --fp16, or neither")
        if self.regression and self.examples.labels is not None:
            largest = places[np.argmax(np.abs(self.examples.labels[places]))]
            number, row = self.examples.labels[largest], self.examples.rows[largest]
            causes.append(f"an extreme number to learn: the largest is {number:g} in row {row}, mend it or scale all")
        return causes


def all_finite(model: torch.nn.Module) -> bool:
    """Whether every weight is a number."""
    # The norm of a tensor is finite only where all of it is, and needs no room for a tensor of answers.
    norms = [
        torch.linalg.vector_norm(parameter.detach())
        for parameter in model.parameters()
        if parameter.is_floating_point()
    ]
    return bool(torch.isfinite(torch.stack(norms)).all())
