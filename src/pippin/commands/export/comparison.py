"""How far the written model is from the run's own on the same prompts, and how far rounding may take it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from pippin.commands.verify.tolerance import allowed_error, allowed_errors, rounding, yardstick
from pippin.models.facts import Precision

#: The next token is compared at so many of a prompt's last places; the very last is where an answer begins.
_PLACES = 4
#: The logits of tokens for whatever follows each of them.
Reader = Callable[[list[int]], np.ndarray]


@dataclass
class Difference:
    """Between logits, place by place."""

    places: int = 0
    agreeing: int = 0
    """Where the likeliest next token is the same."""
    largest: float = 0.0
    """Of one logit."""
    relative: float = 0.0
    """The largest, by the usual size of that place's logits."""
    squares: float = 0.0

    @property
    def usual(self) -> float:
        """The root of the mean square."""
        return math.sqrt(self.squares / self.places) if self.places else 0.0

    def add(self, found: np.ndarray, wanted: np.ndarray) -> None:
        apart = np.abs(found.astype(np.float64) - wanted)
        largest = apart.max(-1) if np.isfinite(apart).all() else np.full(len(apart), np.inf)
        size = np.sqrt(np.square(wanted.astype(np.float64)).mean(-1))
        self.places += len(wanted)
        self.agreeing += int((found.argmax(-1) == wanted.argmax(-1)).sum())
        self.largest = max(self.largest, float(largest.max()))
        self.squares += float(np.square(apart).mean(-1).sum())
        self.relative = max(self.relative, float((largest / np.maximum(size, 1e-30)).max()))


def reader_of(model: Any) -> Reader:
    """A model of torch's as a reader of tokens."""

    def read(ids: list[int]) -> np.ndarray:
        with torch.no_grad():
            return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float().numpy()

    return read


def answers_of(read: Reader, prompts: Iterable[list[int]]) -> Iterator[np.ndarray]:
    """At the last places of each prompt."""
    return (read(ids)[-_PLACES:].copy() for ids in prompts)


def difference(found: Iterable[np.ndarray], wanted: Iterable[np.ndarray]) -> Difference:
    total = Difference()
    for each, right in zip(found, wanted, strict=True):
        total.add(each, right)
    return total


def allowed(model: Any, prompts: Sequence[list[int]], wanted: Sequence[np.ndarray], precision: Precision) -> float:
    """The relative difference that rounding to this precision explains, by what it does to the model itself."""
    with rounding(yardstick(precision)):
        rounded = difference(answers_of(reader_of(model), prompts), wanted)
    return allowed_errors(allowed_error(model), precision, {"": rounded.relative})[""]
