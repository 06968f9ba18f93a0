"""Language models: each learnt token is foretold from all that stand before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pippin.errors import PippinError
from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.base import AnswerColumns, Command, Dataset, Reads, Scorer
from pippin.tasks.language.templates import Learn
from pippin.tasks.parts import Part

if TYPE_CHECKING:  # a command line is judged before anything is loaded
    import numpy as np
    import torch

    from pippin.data.encoding import Encoded
    from pippin.data.examples import Examples
    from pippin.tasks.language.scorer import TextScorer
    from pippin.tasks.rows import Splits


@dataclass(frozen=True)
class LanguageTask:
    learn: Learn = "answers"
    chats: bool = True
    """Whether rows are chats rather than plain texts."""
    template: str = ""
    """The chat template that was named; empty for the model's own."""
    label_smoothing: float = 0.0

    name: ClassVar[str | None] = None
    labels: ClassVar[Labels] = Labels(())
    auto_model: ClassVar[str] = "AutoModelForCausalLM"
    pipeline: ClassVar[str] = "text-generation"
    pipeline_options: ClassVar[str] = ""
    reads: ClassVar[Reads] = "targets"
    kind: ClassVar[str] = "a language model"
    metrics: ClassVar[tuple[str, ...]] = ("perplexity", "token_accuracy")
    main_metric: ClassVar[str] = "perplexity"
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"loss", "perplexity"})

    @property
    def gives(self) -> str:
        return "an answer" if self.chats else "the text that goes on"

    @property
    def command(self) -> Command:
        return "chat" if self.chats else "chat --complete"

    def check(self, recipe: Recipe) -> None:
        for flag, asked in (
            ("--do_regression", recipe.do_regression),
            ("--several_labels", recipe.several_labels == "on"),
            ("--class_weights", recipe.class_weights),
        ):
            if asked:
                raise PippinError(f"{flag} is about labels, and a language model has none. Leave it out.")
        if recipe.train == "head" or recipe.train_only == "head" or recipe.freeze == "core" or recipe.unfreeze == 0:
            raise PippinError("a language model's head is its word vectors, and isn't trained alone. Use --train lora.")

    def read(self, recipe: Recipe, known: Labels | None = None, rows: Splits | None = None) -> Dataset:
        from pippin.tasks.language.dataset import prepare

        return prepare(self, recipe, rows, known is not None)

    def with_labels(self, labels: Labels) -> LanguageTask:
        return self

    def encode(self, examples: Examples, tokenizer: Any, max_length: int, fresh: bool = False) -> Encoded:
        from pippin.tasks.language.encoding import encode_text
        from pippin.tasks.language.templates import give_template

        notes = give_template(tokenizer, self.template) if self.chats else ()
        return encode_text(examples, tokenizer, max_length, self.learn, notes)

    def count(self, labels: torch.Tensor) -> float:
        from pippin.data.collate import NO_LABEL

        return int((labels != NO_LABEL).sum())

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The network itself sums the losses of the learnt tokens where it has their logits, some at a time.

        Where it shows logits they are of all tokens, or of the learnt ones alone.
        """
        from torch.nn import functional

        from pippin.data.collate import NO_LABEL

        if logits.ndim == 0:
            return logits
        wanted = labels[labels != NO_LABEL] if logits.ndim == 2 else labels.flatten()
        return functional.cross_entropy(
            logits.float().flatten(0, -2),
            wanted,
            ignore_index=NO_LABEL,
            reduction="sum",
            label_smoothing=self.label_smoothing,
        )

    def scorer(self, encoded: Encoded) -> TextScorer:
        from pippin.tasks.language.encoding import EncodedText
        from pippin.tasks.language.scorer import TextScorer

        assert isinstance(encoded, EncodedText)
        return TextScorer(self, encoded)

    def settled(self, judged: Callable[[], Scorer] | None) -> Labels:
        return self.labels

    def answer_columns(self, top_k: int | None = None, all_scores: bool = False, words: bool = False) -> AnswerColumns:
        from pippin.tasks.language.answers import LossColumn

        return LossColumn()

    def suspects(self, examples: Examples, places: np.ndarray) -> list[str]:
        return []

    def data_parts(self, examples: Examples, encoded: Encoded) -> tuple[Part, ...]:
        from pippin.tasks.language.encoding import EncodedText
        from pippin.tasks.language.shown import example_part, learnt_part

        assert isinstance(encoded, EncodedText)
        return (*example_part(encoded), learnt_part(encoded))
