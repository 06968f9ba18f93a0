"""From a Recipe to a Plan: what every command does first. Nothing is written, and no weights are read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from pippin.data.dataset import Dataset, prepare
from pippin.data.encoding import Encoded, EncodedSplits, encode
from pippin.data.examples import Examples
from pippin.data.sources import find_source
from pippin.errors import PippinError
from pippin.machine.backends import get_backend
from pippin.machine.check import OLDEST_TORCH, dotted, release
from pippin.machine.machine import Machine
from pippin.machine.probe import probe
from pippin.models.loading import (
    display_name,
    load_config,
    load_tokenizer,
    longest_input,
    match_classes,
    require_trained,
    resolve_model,
)
from pippin.plan.device import choose_device
from pippin.plan.make import Rows, make_plan
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.report.terminal import Terminal

#: Share of unknown tokens from which something is likely wrong.
_MANY_UNKNOWN = 0.2


@dataclass(frozen=True)
class PlannedJob:
    recipe: Recipe
    machine: Machine
    data: Dataset
    rows: EncodedSplits
    config: Any
    """The model's, set up for the labels."""
    tokenizer: Any
    plan: Plan

    @property
    def fingerprint(self) -> str:
        """Changes with the rows that training and its evaluations see, and with the names of the classes."""
        names = json.dumps(self.data.labels.names, ensure_ascii=False)
        return hashlib.sha256(f"{self.rows.fingerprint()} {names}".encode(errors="backslashreplace")).hexdigest()

    @property
    def model(self) -> str:
        """The model's name for people."""
        return display_name(resolve_model(self.recipe.model_name_or_path))


def plan_job(recipe: Recipe, terminal: Terminal) -> PlannedJob:
    """Read the data, look at the computer and decide what is open; what was found and decided is said."""
    known = None if recipe.wants_training else require_trained(recipe)
    data = prepare(find_source(recipe), recipe, known)
    terminal.show_findings(data.columns.reason, data.notes, data.warnings)
    machine = probe()
    if release(machine.torch) < OLDEST_TORCH:
        raise PippinError(
            f"Pippin needs torch {dotted(OLDEST_TORCH)}, and this is {machine.torch}. See `pippin doctor`."
        )
    # What the device refuses is said before the rows are encoded.
    warnings = [get_backend(choose_device(recipe, machine).value).check_environment()]
    labels, warning = match_classes(data.labels, recipe)
    data = data.with_classes(labels)
    config, tokenizer = load_config(recipe, labels), load_tokenizer(recipe)
    rows, plan = _encode_and_plan(recipe, machine, data, config, tokenizer)
    _check_vocabulary(rows, config)
    job = PlannedJob(recipe, machine, data, rows, config, tokenizer, plan)
    for text in filter(None, [*warnings, warning]):
        terminal.warn(text)
    _show(job, terminal)
    return job


def _encode_and_plan(
    recipe: Recipe, machine: Machine, data: Dataset, config: Any, tokenizer: Any
) -> tuple[EncodedSplits, Plan]:
    limit = longest_input(tokenizer, config)
    length = min(recipe.max_seq_length, limit or recipe.max_seq_length)
    test = data.test if recipe.wants_prediction else {}

    def encoded(split: Examples) -> Encoded:
        return encode(split, tokenizer, length, fresh=recipe.overwrite_cache)

    rows = EncodedSplits(
        encoded(data.train) if data.train and recipe.wants_training else None,
        {name: encoded(split) for name, split in data.validation.items()},
        {name: encoded(split) for name, split in test.items()},
    )
    facts = Rows(
        lengths=rows.train.lengths if rows.train else None,
        evaluated=tuple(split.lengths for split in (*rows.validation.values(), *rows.test.values())),
        outputs=data.labels.outputs,
        has_validation=bool(rows.validation),
        pads_left=any(split.pad_left for split in rows.all()),
        words=len(np.unique(rows.train.tokens)) if rows.train else 0,
    )
    return rows, make_plan(recipe, machine, data.task, config, limit, facts)


def _check_vocabulary(rows: EncodedSplits, config: Any) -> None:
    """A token that the model has no row for would stop a GPU in the middle of the run, in words of its own."""
    size = getattr(config, "vocab_size", None)
    largest = max((int(split.tokens.max()) for split in rows.all() if len(split.tokens)), default=0)
    if size is not None and largest >= size:
        raise PippinError(
            f"the tokenizer gives token number {largest}, but the model knows only {size}: they do not belong "
            "together. Check --tokenizer_name, or the tokenizer's files in the model's folder."
        )


def _show(job: PlannedJob, terminal: Terminal) -> None:
    data, rows = job.data, job.rows
    unknown = max((split.unknown for split in rows.all()), default=0.0)
    if unknown > _MANY_UNKNOWN:
        terminal.warn(f"{unknown:.0%} of the tokens are unknown to the tokenizer: is the model for another language?")
    cut, total = sum(split.cut for split in rows.all()), sum(len(split) for split in rows.all())
    if cut:
        terminal.note(f"{cut} of {total} texts are longer than {job.plan.max_length.value} tokens and were cut.")
    needed, budget = job.plan.memory, job.plan.memory_budget
    if needed.value > budget.value > 0:
        terminal.warn(
            f"the memory {needed.reason}. If it runs out, lower --max_seq_length, take a smaller model, or --optim sgd."
        )
    sizes = [f"{len(data.train)} training"] if data.train is not None else []
    sizes += [
        f"{len(split)} {name.replace('_', ' ')}" for name, split in [*data.validation.items(), *data.test.items()]
    ]
    kind = "numbers" if data.labels.regression else f"{len(data.labels.names)} classes"
    headline = f"{data.name}: {', '.join(sizes)} rows, {kind} · {job.model}"
    terminal.show_plan(job.plan, headline, job.recipe.wants_training)
