"""What a task is: all that no other package may know of what a model is trained for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.parts import Part

if TYPE_CHECKING:  # a command line is judged before anything is loaded
    import numpy as np
    import torch

    from pippin.data.encoding import Encoded
    from pippin.data.examples import Examples
    from pippin.tasks.rows import Splits

#: What answers a row: a prediction, or the probability of each class.
Answer: TypeAlias = "Prediction | np.ndarray"

#: What a head reads of each row's hidden states.
Reads = Literal["first token", "last token", "every token", "targets"]

#: A command of Pippin that uses a trained model, with its flags.
Command = Literal["predict", "chat", "chat --complete"]


@dataclass(frozen=True)
class Columns:
    """The chosen columns and the sentence that says why."""

    text: tuple[str, ...]
    label: str
    reason: str
    label_is_certain: bool = False
    """Whether the user or the task named the label, so that nothing need be doubted."""
    flags: tuple[str, ...] = ()
    """Columns of 0 and 1, where each label has one of its own."""


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
            return replace(self, task=self.task.with_labels(labels))
        places = {name: place for place, name in enumerate(labels.names)}
        numbers = np.array([places[name] for name in self.labels.names])

        return replace(
            self,
            task=self.task.with_labels(labels),
            train=self.train and self.train.with_numbers(numbers),
            validation={name: split.with_numbers(numbers) for name, split in self.validation.items()},
            test={name: split.with_numbers(numbers) for name, split in self.test.items()},
        )


@dataclass(frozen=True)
class Span:
    """A stretch of a text that has a label, such as a name."""

    label: str
    start: int
    """The place of its first character in the text."""
    end: int
    """The place after its last one."""
    text: str
    score: float | None = None
    """The probability of the label; None where it is the truth."""

    def __str__(self) -> str:
        return f"{self.label}: {self.text}"


@dataclass(frozen=True)
class Prediction:
    """One text's answer: a class with its probability, a number, any number of labels, its spans, or words' tags."""

    label: str | None = None
    """The class; None where something else is predicted."""
    score: float | None = None
    """The probability of the class."""
    value: float | None = None
    """The number; None where something else is predicted."""
    labels: tuple[str, ...] | None = None
    """The labels of a model that may give several, or none; None for other models."""
    scores: tuple[float, ...] = ()
    """The probability of each of the labels."""
    spans: tuple[Span, ...] | None = None
    """What was found in the text, in its order; None for models that do not look for spans."""
    tags: tuple[str, ...] | None = None
    """A tag for each word, where words were given one by one; None otherwise."""

    def __repr__(self) -> str:
        if self.value is not None:
            return f"Prediction(value={self.value:.4g})"
        if self.tags is not None:
            return f"Prediction(tags={list(self.tags)})"
        if self.spans is not None:
            return f"Prediction(spans={list(self.spans)})"
        if self.labels is not None:
            scores = ", ".join(f"{score:.4f}" for score in self.scores)
            return f"Prediction(labels={list(self.labels)}, scores=[{scores}])"
        score = "" if self.score is None else f", score={self.score:.4f}"
        return f"Prediction(label={self.label!r}{score})"

    def __str__(self) -> str:
        """The answer in words: the class, the number in four decimals, the labels, the tags or the spans."""
        if self.value is not None:
            return f"{self.value:.4f}"
        if self.tags is not None:
            return " ".join(self.tags)
        if self.spans is not None:
            return "; ".join(map(str, self.spans))
        return str(self.label) if self.labels is None else "|".join(self.labels)


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


class AnswerColumns(Protocol):
    """What answers add to the rows of a file."""

    @property
    def names(self) -> list[str]:
        """The columns of a file that has columns."""

    @property
    def keys(self) -> list[str]:
        """The keys of an object, whose values need not be flat."""

    @property
    def needs_scores(self) -> bool:
        """Whether answers are the probabilities of all classes instead of predictions."""

    def cells(self, answer: Answer | None) -> list[str]:
        """The cells of one row; empty ones where there is no answer."""

    def values(self, answer: Answer | None) -> list[Any]:
        """The values of one object, as JSON has them; null where there is no answer."""


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
    def pipeline_options(self) -> str:
        """What that pipeline must be told to answer as Pippin does: `top_k=None`, or nothing."""

    @property
    def command(self) -> Command:
        """Pippin's command that uses its models, with its flags."""

    @property
    def reads(self) -> Reads: ...

    @property
    def labels(self) -> Labels:
        """What the model's outputs stand for; nothing before rows were read."""

    @property
    def kind(self) -> str:
        """What is learnt, in a word or two: `6 classes`."""

    @property
    def gives(self) -> str:
        """What a row is answered with, for a sentence: `one of 6 classes`."""

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

    def read(self, recipe: Recipe, known: Labels | None = None, rows: Splits | None = None) -> Dataset:
        """The rows that a recipe asks for, checked.

        ``known``: the labels of a model that is used as it is. ``rows``: the user's own, where they were read already.
        """

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

    def settled(self, judged: Callable[[], Scorer] | None) -> Labels:
        """The labels with what is chosen on validation rows after training; ``judged`` gives the answers to them."""

    def answer_columns(self, top_k: int | None = None, all_scores: bool = False, words: bool = False) -> AnswerColumns:
        """What its answers add to a file: with the ``top_k`` likeliest classes, or the scores of all.

        ``words``: whether the rows are lists of words rather than texts.
        """

    def suspects(self, examples: Examples, places: np.ndarray) -> list[str]:
        """What in these training rows may have made a loss that is no number, each with a cure."""

    def data_parts(self, examples: Examples, encoded: Encoded) -> tuple[Part, ...]:
        """What the report shows of the training rows."""
