"""How much the rows of each class count in the loss, for classes of very different sizes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pippin.data.tables import listed
from pippin.errors import PippinError, nearest, readable, shown
from pippin.plain_files import read_json

if TYPE_CHECKING:
    import torch

BALANCED = "balanced"
#: Classes are very unequal where the most frequent one has so many times the rows of the rarest.
_VERY_UNEQUAL = 10
#: So many weights are told one by one.
_MOST_TOLD = 8
_LARGEST_FILE = 8 << 20
_WANTED = 'Write balanced, or as in spam=5,ham=1, or name a JSON file such as {"spam": 5, "ham": 1}.'
_ON_DEVICE: dict[tuple[tuple[float, ...], torch.device], torch.Tensor] = {}


def class_weights(asked: tuple[str, ...], names: tuple[str, ...], numbers: np.ndarray) -> tuple[float, ...]:
    """A weight for each class, on average 1 over these rows, so that the learning rate means what it meant before."""
    rows = np.bincount(numbers, minlength=len(names))
    if asked == (BALANCED,):
        weights = np.where(rows, len(numbers) / np.maximum(rows, 1), 0.0)
    else:
        given = _by_name(asked)
        for name in given:
            if name not in names:
                raise PippinError(
                    f"--class_weights {name}: there is no such class; there are {listed(names)}.{nearest(name, names)}"
                )
        weights = np.array([given.get(name, 1.0) for name in names])
    total = float(weights @ rows)
    if not total:
        raise PippinError("--class_weights: every class of the training rows has the weight 0. Give one of them more.")
    return tuple((weights * (len(numbers) / total)).tolist())


def weights_beside(logits: torch.Tensor, weights: tuple[float, ...]) -> torch.Tensor:
    """The weights as a tensor on the logits' device. It is copied there once: a recorded step can copy nothing."""
    import torch

    if type(logits) is not torch.Tensor:  # a forecast, on paper
        return logits.new_tensor(weights)
    key = (weights, logits.device)
    if key not in _ON_DEVICE:
        _ON_DEVICE[key] = torch.tensor(weights, dtype=torch.float32, device=logits.device)
    return _ON_DEVICE[key]


def weights_in_words(weights: tuple[float, ...], names: tuple[str, ...]) -> str:
    """The weights, or where there are many the least and the most."""
    order = sorted(range(len(names)), key=lambda place: weights[place])
    if len(order) > _MOST_TOLD:
        order = [order[0], order[-1]]
        return " to ".join(f"{weights[place]:.3g} ({names[place]})" for place in order)
    return ", ".join(f"{names[place]} {weights[place]:.3g}" for place in order)


def inequality(names: tuple[str, ...], numbers: np.ndarray) -> str:
    """In words, where the classes of these rows are very unequal; else empty."""
    rows = np.bincount(numbers, minlength=len(names))
    occurring = np.flatnonzero(rows)
    most, least = occurring[rows[occurring].argmax()], occurring[rows[occurring].argmin()]
    if rows[most] < _VERY_UNEQUAL * rows[least]:
        return ""
    return f"{shown(names[most])} has {rows[most]} training rows, and {shown(names[least])} has {rows[least]}"


def _by_name(asked: tuple[str, ...]) -> dict[str, float]:
    if len(asked) == 1 and "=" not in asked[0]:
        return _from_file(asked[0])
    found: dict[str, float] = {}
    for part in asked:
        name, sign, weight = part.rpartition("=")
        if not sign or not name:
            raise PippinError(f"--class_weights: {shown(part)} is not NAME=WEIGHT. {_WANTED}")
        if name in found:
            raise PippinError(f"--class_weights names {shown(name)} twice. Keep one of them.")
        found[name] = _weight(name, weight)
    return found


def _from_file(name: str) -> dict[str, float]:
    if not Path(name).exists():
        raise PippinError(f"--class_weights {name}: there is no such file. {_WANTED}")
    try:
        with readable(f"--class_weights {name}"):
            found = read_json(Path(name), _LARGEST_FILE)
    except ValueError as error:
        raise PippinError(f"--class_weights {name}: the file is not JSON ({error}). {_WANTED}") from None
    if not isinstance(found, dict):
        raise PippinError(f"--class_weights {name}: the file holds no names with weights. {_WANTED}")
    return {key: _weight(key, value) for key, value in found.items()}


def _weight(name: str, given: Any) -> float:
    try:
        weight = float(given)
    except (TypeError, ValueError):
        weight = -1.0
    if not 0 <= weight < 1e6 or isinstance(given, bool):
        raise PippinError(
            f"--class_weights: {shown(given)} is not a weight for {shown(name)}. Give a number from 0 to 1000000."
        )
    return weight
