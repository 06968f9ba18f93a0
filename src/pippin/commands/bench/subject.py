"""The model and the rows that are measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pippin.commands.planning import PlannedJob, plan_job, replanned
from pippin.data.collate import taken
from pippin.data.encoding import Encoded
from pippin.machine.machine import Machine
from pippin.models.loading import display_name, load_model, longest_input, resolve_model
from pippin.models.skeleton import make_random
from pippin.recipe import Recipe
from pippin.report.terminal import Terminal

BERT_BASE = "google-bert/bert-base-uncased"
_BERT_BASE_CONFIG = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "vocab_size": 30522,
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
}
_SEED = 42


@dataclass(frozen=True)
class Subject:
    """A model with its rows, read once; what differs from device to device is planned from here."""

    job: PlannedJob
    model: str
    """Its name for people."""
    random_weights: bool = False

    @property
    def longest(self) -> int:
        """Most tokens that the model takes."""
        return longest_input(self.job.tokenizer, self.job.config) or 512

    @property
    def weights(self) -> str:
        """The folder or Hub name to load the weights from."""
        return resolve_model(self.job.recipe.model_name_or_path)

    def load(self, recipe: Recipe, config: Any, attention: str | None) -> Any:
        """The model on the CPU, as ``load_model`` gives it."""
        return make_random(config, attention) if self.random_weights else load_model(recipe, config, attention)

    def planned(self, device: str, rows: int, **settings: Any) -> PlannedJob:
        """Training on so many rows; where there are fewer, some come twice."""
        job = self.job
        assert job.rows.train is not None
        assert job.data.train is not None
        chosen = np.resize(np.random.default_rng(_SEED).permutation(len(job.rows.train)), rows)
        data = replace(job.data, train=job.data.train.take(chosen))
        encoded = replace(job.rows, train=taken(job.rows.train, chosen))
        return replanned(replace(job, data=data, rows=encoded), device=device, **settings)

    def rows_of_length(self, count: int, length: int) -> Encoded:
        """Rows of so many tokens each: real ones, cut and joined."""
        train = self.job.rows.train
        assert train is not None
        tokens = np.resize(train.tokens, count * length)
        tokens[::length] = train.tokens[0]  # each begins as a text does
        return Encoded(
            tokens,
            None if train.token_type_ids is None else np.zeros(count * length, dtype=train.token_type_ids.dtype),
            np.arange(count + 1, dtype=np.int64) * length,
            None if train.labels is None else np.resize(train.labels, (count, *train.labels.shape[1:])),
            pad_token=train.pad_token,
            pad_left=train.pad_left,
        )


@contextmanager
def found(model: str | None, data: str | None, full: bool, machine: Machine) -> Iterator[Subject]:
    """The model and the data that were asked for, or the built-in ones; ``full`` stands for BERT-base.

    Where BERT-base was never fetched from the Hub, one with random weights takes its place, and lies in a temporary
    folder while this lasts.
    """
    recipe = Recipe(
        data=data,
        model_name_or_path=model,
        device="cpu",  # of the plan that others are made from
        num_train_epochs=1,
        eval_strategy="no",
        save_strategy="no",
        verify="off",
        seed=_SEED,
    )
    if not full:
        yield _subject(recipe, machine)
    elif _is_fetched(BERT_BASE):
        yield _subject(replace(recipe, model_name_or_path=BERT_BASE), machine)
    else:
        with TemporaryDirectory() as folder:
            Path(folder, "config.json").write_text(json.dumps(_BERT_BASE_CONFIG), encoding="utf-8")
            # The built-in model's tokenizer is BERT's.
            recipe = replace(recipe, model_name_or_path=folder, tokenizer_name=resolve_model(None))
            subject = _subject(recipe, machine, needs_weights=False)
            yield replace(subject, model="BERT-base (random weights)", random_weights=True)


def _subject(recipe: Recipe, machine: Machine, needs_weights: bool = True) -> Subject:
    job = plan_job(recipe, Terminal(quiet=True), machine, needs_weights)
    return Subject(job, display_name(resolve_model(recipe.model_name_or_path)))


def _is_fetched(name: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return all(isinstance(try_to_load_from_cache(name, file), str) for file in ("config.json", "model.safetensors"))
