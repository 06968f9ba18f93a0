"""A task that only tests know: whether each token begins with a vowel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch.nn import functional

from pippin.data.collate import NO_LABEL, places_of
from pippin.data.encoding import Encoded, encode
from pippin.data.examples import Examples
from pippin.data.tables import read_table
from pippin.errors import PippinError
from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.base import Baseline, Columns, Dataset, Prediction, Reads
from pippin.tasks.class_answers import ClassColumns
from pippin.tasks.parts import Bars, Part, TablePart
from pippin.tasks.rows import Splits

NAMES = ("consonant", "vowel")


@dataclass(frozen=True)
class VowelTask:
    name: str = "vowels"
    labels: Labels = Labels(NAMES)
    auto_model: ClassVar[str] = "AutoModelForTokenClassification"
    pipeline: ClassVar[str] = "token-classification"
    pipeline_options: ClassVar[str] = ""
    command: ClassVar[str] = "predict"
    reads: ClassVar[Reads] = "every token"
    kind: ClassVar[str] = "vowels and consonants"
    gives: ClassVar[str] = "a kind of letter for each token"
    metrics: ClassVar[tuple[str, ...]] = ("token_accuracy",)
    main_metric: ClassVar[str] = "token_accuracy"
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"loss"})

    def check(self, recipe: Recipe) -> None:
        if recipe.do_regression:
            raise PippinError("a letter is no number")

    def read(self, recipe: Recipe, known: Labels | None = None, rows: Splits | None = None) -> Dataset:
        splits = {}
        for path in sorted(Path(str(recipe.data_dir)).glob("*.csv")):
            texts = list(read_table(path).columns["text"])
            splits[path.stem] = Examples(texts, None, None, range(1, len(texts) + 1), str(path))
        train = splits["train"] if recipe.wants_training else None
        columns = Columns(("text",), "none", "labels are made of the letters")
        return Dataset("letters", self, columns, train, {"validation": splits["validation"]}, {"test": splits["test"]})

    def with_labels(self, labels: Labels) -> VowelTask:
        return replace(self, labels=labels)

    def encode(self, examples: Examples, tokenizer: Any, max_length: int, fresh: bool = False) -> Encoded:
        encoded = encode(examples, tokenizer, max_length, fresh)
        letters = [tokenizer.backend_tokenizer.id_to_token(int(token)).lstrip("#")[0] for token in encoded.tokens]
        labels = [NO_LABEL if letter == "[" else int(letter in "aeiou") for letter in letters]
        return replace(encoded, labels=np.array(labels), per_token=True)

    def count(self, labels: torch.Tensor) -> int:
        return int((labels != NO_LABEL).sum())

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(
            logits.float().flatten(0, 1), labels.flatten(), reduction="sum", ignore_index=NO_LABEL
        )

    def scorer(self, encoded: Encoded) -> VowelScorer:
        return VowelScorer(encoded)

    def settled(self, judged: Callable[[], VowelScorer] | None) -> Labels:
        return self.labels

    def answer_columns(self, top_k: int | None = None, all_scores: bool = False, words: bool = False) -> ClassColumns:
        return ClassColumns(self.labels)

    def suspects(self, examples: Examples, places: np.ndarray) -> list[str]:
        return ["an odd letter"]

    def data_parts(self, examples: Examples, encoded: Encoded) -> tuple[Part, ...]:
        counts = [int((encoded.labels == label).sum()) for label in range(2)]
        return (Part("Tokens by first letter", bars=Bars(NAMES, tuple(counts), "letters")),)


class VowelScorer:
    def __init__(self, encoded: Encoded):
        self.encoded, self.answers = encoded, np.full(len(encoded.tokens), -1)
        self.lost = np.zeros(len(encoded.tokens), np.float32)

    def add(self, rows: np.ndarray, logits: np.ndarray) -> None:
        places = places_of(self.encoded, rows)
        assert len(logits) == len(places)
        assert (self.answers[places] == -1).all(), "each token is answered once"
        self.answers[places] = logits.argmax(1)
        labels = torch.from_numpy(self.encoded.labels[places])
        self.lost[places] = functional.cross_entropy(torch.from_numpy(logits), labels, reduction="none").numpy()

    def share(self, total: Callable[[np.ndarray], np.ndarray]) -> None:
        self.answers, self.lost = total(self.answers + 1) - 1, total(self.lost)

    @property
    def counts(self) -> np.ndarray:
        return self.encoded.labels != NO_LABEL

    def metrics(self) -> dict[str, float]:
        right = (self.answers == self.encoded.labels)[self.counts]
        return {"token_accuracy": float(right.mean()), "loss": float(self.lost.sum(dtype=float) / self.counts.sum())}

    def predictions_of_rows(self) -> Iterator[Prediction]:
        return (Prediction(each, None) for each in self._words(self.answers))

    def truths(self) -> Iterator[str]:
        return self._words(self.encoded.labels)

    def baseline(self, reference: Encoded) -> Baseline:
        common = int(np.bincount(reference.labels[reference.labels != NO_LABEL]).argmax())
        right = self.encoded.labels[self.counts] == common
        return Baseline(f"always answering {NAMES[common]}", {"token_accuracy": float(right.mean())})

    def remarks(self, split: str, baseline: Baseline) -> list[str]:
        return ["all tokens are consonants"] if not self.answers[self.counts].any() else []

    def parts(self, examples: Examples, columns: Columns, split: str) -> tuple[Part, ...]:
        right = self.answers == self.encoded.labels
        figures = [(right[self.encoded.labels == label], name) for label, name in enumerate(NAMES)]
        rows = tuple((name, float(some.mean()), len(some)) for some, name in figures)
        table = TablePart(("letter", "recall", "tokens"), rows, ("", ".3f", "d"), "letters")
        return (Part(f"By letter, on the {split} rows", table, in_brief=True),)

    def _words(self, numbers: np.ndarray) -> Iterator[str]:
        for start, stop in zip(self.encoded.offsets, self.encoded.offsets[1:], strict=False):
            counted = self.counts[start:stop]
            yield " ".join(NAMES[number] for number in numbers[start:stop][counted])
