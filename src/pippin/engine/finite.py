"""Losses, gradients, weights and answers that are NaN or infinite, told with the rows and the likely causes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from pippin.data.encoding import Encoded
from pippin.data.examples import Examples
from pippin.errors import PippinError
from pippin.models.network import Network

#: Most row numbers in a message.
_MOST_ROWS = 32


class NoAnswer(PippinError):
    """A model with sound weights gives NaN or infinity."""


@dataclass(frozen=True)
class NotFinite:
    """Makes the error that ends a run with NaN or infinity in it."""

    examples: Examples
    """What is trained on."""
    causes: Callable[[Examples, np.ndarray], list[str]]
    """What the task finds suspicious in the rows at these places."""
    precision: str

    def __call__(self, what: str, step: int, rows: np.ndarray) -> PippinError:
        """``what``: loss, gradient or weights. ``rows``: places of the step's rows in the training split."""
        places = np.sort(rows)
        causes = "; ".join([*self._causes(what, step), *self.causes(self.examples, places)])
        return PippinError(
            f"training stopped: the {what} of step {step} {'are' if what == 'weights' else 'is'} not finite (NaN or "
            f"infinity). Rows of that step in {self.examples.origin}: {_listed(self.examples.rows, places)}. "
            f"Likely causes: {causes}."
        )

    def _causes(self, what: str, step: int) -> list[str]:
        causes = ["too high a learning rate: try a tenth of it with --learning_rate"]
        if step == 1 and what == "loss":  # no weight has changed yet
            causes = ["broken weights: choose another --model_name_or_path", "too high a --neftune_noise_alpha"]
        if self.precision == "fp16":
            causes.append("values beyond the range of fp16: use --bf16 instead of --fp16, or neither")
        return causes


def require_finite(logits: np.ndarray, places: np.ndarray, encoded: Encoded, network: Network) -> None:
    """Stop where a model's answer to one of these rows is NaN or infinite: nothing computed from it would be right."""
    bad = np.unique(places[~np.isfinite(logits).all(axis=1)])
    if len(bad):
        raise _no_answer(f"the model's answer to {_rows(encoded, bad)} is not finite (NaN or infinity)", network)


def require_finite_metrics(
    metrics: dict[str, float], largest: float, place: int, encoded: Encoded, network: Network
) -> None:
    """The same for what is computed from finite answers, of which the ``largest`` can be too large for it."""
    bad = [name for name, value in metrics.items() if not np.isfinite(value)]
    if bad:
        row = _rows(encoded, np.array([place]))
        raise _no_answer(f"{' and '.join(bad)} overflow: the largest answer is {largest:g}, to {row}", network)


def _no_answer(what: str, network: Network) -> NoAnswer:
    backend, precision, causes = network.backend, network.precision, []
    if backend.traits.is_gpu:
        causes.append(
            f"a fault of the device {backend.kind}: use the CPU (--use_cpu, for predict --device cpu) or another "
            "release of torch; `pippin verify` compares the two"
        )
    if precision in ("fp16", "bf16"):
        causes.append(f"values beyond the range of {precision}: leave --{precision} out")
    causes.append("broken weights, perhaps from training with too high a --learning_rate")
    return NoAnswer(f"{what}. Likely causes: {'; '.join(causes)}.")


def _rows(encoded: Encoded, places: np.ndarray) -> str:
    """How a user calls these rows: by their numbers in the file, or by their places in a list of texts."""
    if encoded.origin:
        return f"row{'s' * (len(places) > 1)} {_listed(encoded.rows, places)} of {encoded.origin}"
    return _listed(encoded.rows, places, "texts[{}]")


def _listed(numbers: Sequence[int], places: np.ndarray, form: str = "{}") -> str:
    shown = ", ".join(form.format(numbers[place] if len(numbers) else place) for place in places[:_MOST_ROWS])
    return f"{shown} and {len(places) - _MOST_ROWS} more" if len(places) > _MOST_ROWS else shown


def all_finite(model: torch.nn.Module) -> bool:
    # The norm of a tensor is finite only where all of it is, and needs no room for a tensor of answers.
    weights = [parameter.detach() for parameter in model.parameters() if parameter.is_floating_point()]
    return bool(torch.isfinite(torch.stack([torch.linalg.vector_norm(weight) for weight in weights])).all())
