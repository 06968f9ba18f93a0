"""Learning rates, epochs and batch size where the user names none. How they were found: docs/defaults.md."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pippin.plan.plan import Choice
from pippin.recipe import Recipe

#: The search was done with a model of this width and data of about this many classes.
_SEARCH_WIDTH, _SEARCH_CLASSES = 384, 6
_SEARCH_RATE = 1e-4
#: A head alone is a linear model: it wants a far higher rate, and its epochs cost next to nothing.
_HEAD_ONLY_RATE, _HEAD_ONLY_EPOCHS = 1e-2, 10
#: Of language models: for adapters and for all weights, at this width.
_ADAPTER_RATE, _LANGUAGE_RATE, _LANGUAGE_WIDTH = 4e-4, 4e-5, 2048
#: Below so many rows a language model needs small batches to make enough steps.
_FEW_CHATS = 1000
HUGGING_FACE = "Hugging Face's default"


@dataclass(frozen=True)
class JobFacts:
    """What the hyper-parameters follow from."""

    rows: int
    classes: int
    """Outputs of the head; 1 for regression."""
    hidden_size: int
    """Width of the model."""
    head_only: bool = False
    """Whether nothing but the head is trained."""
    language: bool = False
    """Whether a language model is trained."""
    adapters: bool = False
    """Whether adapters are trained in place of the weights."""

    @property
    def crowding(self) -> float:
        """How many times more classes than in the search; at least 1."""
        return max(1.0, self.classes / _SEARCH_CLASSES)


def choose_batch_size(recipe: Recipe, facts: JobFacts, processes: int = 1) -> Choice[int]:
    """Rows per optimiser step, over all processes: small data needs small batches to make enough steps."""
    accumulation = recipe.gradient_accumulation_steps
    said = f" × {accumulation} accumulated" if accumulation > 1 else ""

    def shared(rows: int, why: str) -> Choice[int]:
        part = f"; about {rows / processes:.3g} on each of {processes} processes" if processes > 1 else ""
        return Choice(rows, why + said + part)

    if recipe.batch_size is not None:
        return shared(recipe.batch_size * accumulation, "as requested")
    each = f" × {processes} processes" if processes > 1 else ""
    if recipe.per_device_train_batch_size is not None:
        return Choice(recipe.per_device_train_batch_size * processes * accumulation, "as requested" + each + said)
    if recipe.is_classic:
        return Choice(8 * processes * accumulation, HUGGING_FACE + each + said)
    if facts.language:
        rows = 8 if facts.rows < _FEW_CHATS else 16
    else:
        rows = 8 if facts.rows < 200 else 16 if facts.rows < 2000 else 32
    return shared(rows * accumulation, f"a good size for {facts.rows} rows")


def choose_learning_rate(recipe: Recipe, facts: JobFacts) -> Choice[float]:
    """Peak learning rate: lower for wider models, up to twice as high for many classes."""
    if recipe.learning_rate is not None:
        return Choice(recipe.learning_rate, "as requested")
    if recipe.is_classic:
        return Choice(5e-5, HUGGING_FACE)
    if facts.language:
        rate = _ADAPTER_RATE if facts.adapters else _LANGUAGE_RATE
        rate = float(f"{rate * (_LANGUAGE_WIDTH / facts.hidden_size) ** 0.8:.1e}")
        what = "adapters" if facts.adapters else "all weights"
        return Choice(rate, f"for {what} of a language model with a hidden size of {facts.hidden_size}")
    width = min(3.0, (_SEARCH_WIDTH / facts.hidden_size) ** 1.5)
    crowd = min(2.0, facts.crowding ** (1 / 3))
    rate = float(f"{_SEARCH_RATE * width * crowd:.1e}")
    return Choice(rate, f"for a hidden size of {facts.hidden_size} and {_outputs(facts)}")


def choose_head_rate(recipe: Recipe, facts: JobFacts, learning_rate: float) -> Choice[float]:
    """Peak learning rate of the head, which starts from nothing: higher the more classes it must tell apart."""
    if recipe.head_learning_rate is not None:
        return Choice(recipe.head_learning_rate, "as requested")
    if recipe.is_classic or recipe.learning_rate is not None:
        return Choice(learning_rate, "the same as the rest")
    if facts.head_only:
        return Choice(_HEAD_ONLY_RATE, "for a head that is trained alone")
    times = 4 if facts.classes == 1 else min(16, max(1, round(facts.classes / 3)))
    return Choice(learning_rate * times, f"{times}× the learning rate: the head starts from scratch")


def choose_epochs(recipe: Recipe, facts: JobFacts) -> Choice[float]:
    """Passes over the training rows: many for few rows, more for many classes."""
    if recipe.num_train_epochs is not None:
        return Choice(recipe.num_train_epochs, "as requested")
    if recipe.is_classic:
        return Choice(3.0, HUGGING_FACE)
    if facts.language:
        return Choice(float(min(8, max(2, round(2 + 600 / facts.rows)))), f"for {facts.rows} rows")
    few = max(3, 2.5 + 2000 / facts.rows) if facts.rows <= 100_000 else 2 if facts.rows <= 500_000 else 1
    if facts.head_only:
        few = max(_HEAD_ONLY_EPOCHS, few)
    crowd = 1 + math.log2(facts.crowding) / 3
    return Choice(float(min(30, round(few * crowd))), f"for {facts.rows} rows and {_outputs(facts)}")


def _outputs(facts: JobFacts) -> str:
    return "a number to predict" if facts.classes == 1 else f"{facts.classes} classes"
