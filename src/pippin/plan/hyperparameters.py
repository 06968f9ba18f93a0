"""Learning rate, epochs and batch size where the user names none. How they were found: docs/defaults.md."""

from __future__ import annotations

from dataclasses import dataclass

from pippin.plan.plan import Choice
from pippin.recipe import Recipe


@dataclass(frozen=True)
class JobFacts:
    """What the hyper-parameters follow from."""

    rows: int
    classes: int
    """Outputs of the head; 1 for regression."""
    hidden_size: int
    """Width of the model."""


def choose_batch_size(recipe: Recipe, facts: JobFacts) -> Choice[int]:
    """Rows per optimiser step."""
    accumulation = recipe.gradient_accumulation_steps
    said = f" × {accumulation} accumulated" if accumulation > 1 else ""
    if recipe.per_device_train_batch_size is not None:
        return Choice(recipe.per_device_train_batch_size * accumulation, "asked for" + said)
    if recipe.is_classic:
        return Choice(8 * accumulation, "Hugging Face's default" + said)
    rows = 16 if facts.rows < 4000 else 32
    return Choice(rows * accumulation, f"suits {facts.rows} rows" + said)


def choose_learning_rate(recipe: Recipe, facts: JobFacts) -> Choice[float]:
    """Peak learning rate."""
    if recipe.learning_rate is not None:
        return Choice(recipe.learning_rate, "asked for")
    if recipe.is_classic:
        return Choice(5e-5, "Hugging Face's default")
    return Choice(2e-4, "found by experiment")


def choose_epochs(recipe: Recipe, facts: JobFacts, batch_size: int) -> Choice[float]:
    """Passes over the training rows."""
    if recipe.num_train_epochs is not None:
        return Choice(recipe.num_train_epochs, "asked for")
    if recipe.is_classic:
        return Choice(3.0, "Hugging Face's default")
    return Choice(8.0, "found by experiment")
