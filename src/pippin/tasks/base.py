"""What a task is: all that no other package may know of what a model is trained for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.parts import Part

if TYPE_CHECKING:  # a command line is judged before anything is loaded
    import numpy as np
    import torch

    from pippin.data.encoding import Encoded
    from pippin.data.examples import Examples

#: What a head reads of each row's hidden states.
Reads = Literal["first token", "last token", "every token", "targets"]


@dataclass(frozen=True)
class Columns:
    """The chosen columns and the sentence that says why."""

    text: tuple[str, ...]
    label: str
    reason: str
    label_is_certain: bool = False
    """Whether the user or the task named the label, so that nothing need be doubted."""


@dataclass(frozen=True)
class Dataset:
    """Checked examples by split, and what was found on the way."""

    name: str
    task: Task
    """With the labels that were found."""
    columns: Columns
    train: Examples | None
    validation: dict[str, Examples]
    test: dict[str, Examples]
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def labels(self) -> Labels:
        return self.task.labels

    def with_classes(self, labels: Labels) -> Dataset:
        """The same rows with the classes in another order."""
        import numpy as np

        if labels.names == self.labels.names:
            return self
        places = {name: place for place, name in enumerate(labels.names)}
        numbers = np.array([places[name] for name in self.labels.names])

        def renumber(split: Examples) -> Examples:
            return split if split.labels is None else replace(split, labels=numbers[split.labels])

        return replace(
            self,
            task=self.task.with_labels(labels),
            train=self.train and renumber(self.train),
            validation={name: renumber(split) for name, split in self.validation.items()},
            test={name: renumber(split) for name, split in self.test.items()},
        )


@dataclass(frozen=True)
class Prediction:
    """One text's answer: a class with its probability, or a number."""

    label: str | None
    """The class; None where a number is predicted."""
    score: float | None = None
    """The probability of the class; None for a number."""
    value: float | None = None
    """The number; None for a class."""

    def __repr__(self) -> str:
        if self.value is not None:
            return f"Prediction(value={self.value:.4g})"
        score = "" if self.score is None else f", score={self.score:.4f}"
        return f"Prediction(label={self.label!r}{score})"

    def __str__(self) -> str:
        """The answer as a word: the class, or the number in four decimals."""
        return str(self.label) if self.value is None else f"{self.value:.4f}"


@dataclass(frozen=True)
class Baseline:
    """The simplest answer to every row, and what a model that gives it would score."""

    answer: str
    """In words: `always answering "common"`."""
    metrics: dict[str, float]


class Scorer(Protocol):
    """Takes answers while they stream, and keeps of each no more than metrics, report and predictions need."""

    def add(self, rows: np.ndarray, logits: np.ndarray) -> None:
        """Some rows of the split, and a line of logits for each of them, or for each of their tokens end to end."""

    def share(self, total: Callable[[np.ndarray], np.ndarray]) -> None:
        """Where each of several processes was given some of the rows: ``total`` adds up an array over all of them."""

    # What follows is asked when all rows were added.

    def metrics(self) -> dict[str, float]:
        """The task's metrics and the loss; without those that these rows leave undefined."""

    def predictions_of_rows(self) -> Iterator[Prediction]:
        """In the order of the rows."""

    def truths(self) -> Iterator[str]:
        """What is right, in the order of the rows and in the words of the predictions; where the rows have labels."""

    def baseline(self, reference: Encoded) -> Baseline:
        """The simplest answer by other rows' labels, those of training where there are some, judged on these rows."""

    def remarks(self, split: str, baseline: Baseline) -> list[str]:
        """What nobody should miss in the answers to these rows, as sentences."""

    def parts(self, examples: Examples, columns: Columns, split: str) -> tuple[Part, ...]:
        """What the report shows of the answers to these rows, which have labels."""


class Task(Protocol):
    """What is learnt from the rows. `tasks.registry` finds that of a recipe."""

    @property
    def name(self) -> str | None:
        """As --task_name has it; None for the user's own rows."""

    @property
    def auto_model(self) -> str:
        """The class of transformers that loads its models."""

    @property
    def pipeline(self) -> str:
        """The Hub's word for what its models do, which is the name of transformers' pipeline too."""

    @property
    def reads(self) -> Reads: ...

    @property
    def labels(self) -> Labels:
        """What the model's outputs stand for; nothing before rows were read."""

    @property
    def kind(self) -> str:
        """What is learnt, in a word or two: `6 classes`."""

    @property
    def metrics(self) -> tuple[str, ...]: ...

    @property
    def main_metric(self) -> str:
        """The metric that decides which model is best."""

    @property
    def lower_is_better(self) -> frozenset[str]:
        """Metrics of which less is better."""

    def check(self, recipe: Recipe) -> None:
        """Refuse settings that make no sense for it."""

    def read(self, recipe: Recipe, known: Labels | None = None) -> Dataset:
        """The rows that a recipe asks for, checked. ``known``: the labels of a model that is used as it is."""

    def with_labels(self, labels: Labels) -> Task:
        """The same for a model with these outputs."""

    def encode(self, examples: Examples, tokenizer: Any, max_length: int, fresh: bool = False) -> Encoded:
        """Tokens, and labels for each row or each token. ``fresh`` makes anew what a cache holds."""

    def count(self, labels: torch.Tensor) -> float:
        """What the loss of a step is divided by: the rows or the tokens that have a label, or the sum of their weights.

        Labels are on the CPU.
        """

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The sum over a micro-batch, so that those of a step add up to the whole exactly.

        Where the head reads every token, both are laid out as the batch's tokens, and padding has the label NO_LABEL.
        """

    def scorer(self, encoded: Encoded) -> Scorer:
        """Takes the answers to these rows."""

    def suspects(self, examples: Examples, places: np.ndarray) -> list[str]:
        """What in these training rows may have made a loss that is no number, each with a cure."""

    def data_parts(self, examples: Examples, encoded: Encoded) -> tuple[Part, ...]:
        """What the report shows of the training rows."""
