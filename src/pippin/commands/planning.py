"""From a Recipe to a Plan: what every command does first. Nothing is written, and no weights are read."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pippin import cache
from pippin.data.collate import NO_LABEL
from pippin.data.encoding import Encoded, EncodedSplits, separator
from pippin.data.examples import Examples
from pippin.data.scripts import OTHER_MODELS, unfamiliar
from pippin.errors import PippinError
from pippin.machine.check import OLDEST_TORCH, dotted, release
from pippin.machine.drivers import get_backend
from pippin.machine.machine import Machine
from pippin.machine.probe import probe, with_memory
from pippin.models.facts import ModelFacts, facts_of
from pippin.models.loading import (
    adapter_settings,
    agree_on_padding,
    default_model,
    display_name,
    load_config,
    load_tokenizer,
    longest_input,
    match_classes,
    require_trained,
    resolve_model,
    trained_head,
)
from pippin.plan.device import choose_device
from pippin.plan.facts import Rows, TaskFacts
from pippin.plan.fits import Estimator
from pippin.plan.length import enough_tokens, most_tokens
from pippin.plan.make import make_plan
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.report.terminal import Terminal
from pippin.runs.model import trained_run
from pippin.tasks.base import Dataset
from pippin.tasks.registry import find_task
from pippin.text import memory

#: Up to this share of the budget the plan's quick estimate is trusted; a step with fake tensors takes a second.
_TRUSTED = 0.6
#: Where more than this share of the texts is cut, nobody should miss it.
_MANY = 0.05


@dataclass(frozen=True)
class PlannedJob:
    recipe: Recipe
    machine: Machine
    data: Dataset
    rows: EncodedSplits
    config: Any
    """The model's, set up for the labels."""
    facts: ModelFacts
    tokenizer: Any
    plan: Plan
    other_classes: str = ""
    """What to warn of where the model's head was trained for other classes."""

    @property
    def fingerprint(self) -> str:
        """Changes with the rows that training and its evaluations see, and with the names of the classes."""
        names = json.dumps(self.data.labels.names, ensure_ascii=False)
        return hashlib.sha256(f"{self.rows.fingerprint()} {names}".encode(errors="backslashreplace")).hexdigest()

    @property
    def model(self) -> str:
        return display_name(resolve_model(self.recipe.model_name_or_path))


def read_data(recipe: Recipe, terminal: Terminal) -> Dataset:
    """The rows of a job, checked; what was found is said."""
    head = known = None
    if not recipe.wants_training:
        _check_model(recipe)
        head = trained_head(recipe)
    task, rows = find_task(recipe, head)
    if not recipe.wants_training:
        known = require_trained(recipe, task.auto_model)
    data = task.read(recipe, known, rows)
    terminal.show_findings(data.columns.reason, data.notes, data.warnings)
    return data


def plan_job(
    recipe: Recipe,
    terminal: Terminal,
    machine: Machine | None = None,
    needs_weights: bool = True,
    data: Dataset | None = None,
    start: Path | None = None,
    most_memory: int | None = None,
) -> PlannedJob:
    """Look at the rows and the computer and decide what is open; what was found and decided is said.

    ``machine`` is another computer to plan for. Without ``needs_weights`` a model's configuration is enough. ``data``
    are the rows where they were read before. ``start`` holds the model of an unfinished run that goes on. A device that
    has more than ``most_memory`` bytes is planned for as if it had no more.
    """
    data = data or read_data(recipe, terminal)
    if recipe.model_name_or_path is None:
        recipe = replace(recipe, model_name_or_path=default_model(data.task.auto_model))
    if start is None and needs_weights and recipe.wants_training:
        _check_model(recipe)
    model = recipe.using_model(str(start)) if start else recipe
    here, machine = machine is None, machine or probe()
    if release(machine.torch) < OLDEST_TORCH:
        raise PippinError(
            f"Pippin needs torch {dotted(OLDEST_TORCH)} or newer, and this is {machine.torch}. See `pippin doctor`."
        )
    # What the device refuses is said before the rows are encoded.
    device = choose_device(recipe, machine).value
    warnings = [get_backend(device).check_environment()] if here else []
    labels, other_classes = match_classes(data.labels, model, needs_weights, data.task.auto_model)
    if recipe.wants_training:  # thresholds that a model came with were chosen for its old weights
        labels = replace(labels, thresholds=())
    data = data.with_classes(labels)
    config = load_config(model, labels, needs_weights, data.task.auto_model)
    tokenizer = load_tokenizer(model, for_words=data.task.reads == "every token")
    if padding := agree_on_padding(config, tokenizer):
        terminal.note(padding)
    if len(data.columns.text) > 2:
        joined_by = separator(tokenizer).rstrip(" ")
        terminal.note(f"the {len(data.columns.text)} texts of a row are joined by {joined_by!r}.")
    limit = longest_input(tokenizer, config)
    facts = facts_of(config, labels.outputs, limit, adapter_settings(model))
    rows = _encode(recipe, data, tokenizer, facts.longest_input)
    warnings.append(_foreign_script(data, tokenizer))
    data = replace(data, train=data.train and data.train.without_texts())  # its tokens are all that is needed of it
    _check_vocabulary(rows, config)
    if here:
        machine = with_memory(machine, device, most_memory)
    plan = _plan(recipe, machine, data, facts, rows)
    job = PlannedJob(recipe, machine, data, rows, config, facts, tokenizer, plan, other_classes or "")
    if needs_weights:  # else it is the forecast that asks
        job = _settled(job)
        if job.plan.memory.needed.value > job.plan.memory.budget.value > 0:
            warnings.append(f"memory: {job.plan.memory.needed.reason}. Trying anyway.")
    for text in filter(None, warnings):
        terminal.warn(text)
    _show(job, terminal)
    return job


def _check_model(recipe: Recipe) -> None:
    """Refuse a model of Pippin's own that was changed since it was trained."""
    folder = Path(resolve_model(recipe.model_name_or_path))
    if folder.is_dir():
        trained_run(folder)


def _settled(job: PlannedJob) -> PlannedJob:
    """With a plan that fits into memory; what cannot is refused, unless it is to be tried all the same."""
    needed, budget = job.plan.memory.needed.value, job.plan.memory.budget.value
    if job.recipe.force or job.rows.train is None or not budget or 0 < needed <= _TRUSTED * budget:
        return job
    from pippin.commands.preflight.memory import FakeEstimator

    try:
        found = replanned(job, estimator=FakeEstimator(job))
    except Exception:  # a model that must see values cannot be run with fake tensors: the quick estimate has to do
        return job
    if (needed := found.plan.memory.needed.value) > budget:
        raise PippinError(
            f"this job does not fit into memory: it needs at least {memory(needed)}, and {memory(budget)} are "
            "available. `pippin preflight` with the same arguments says what would fit: --freeze core, a smaller "
            "model, a lower --max_seq_length. To try anyway: --force"
        )
    return found


def replanned(
    job: PlannedJob, machine: Machine | None = None, estimator: Estimator | None = None, **changes: Any
) -> PlannedJob:
    """The same job with other settings, or for another computer; the rows are not read again."""
    recipe, machine = replace(job.recipe, **changes), machine or job.machine
    plan = _plan(recipe, machine, job.data, job.facts, job.rows, estimator)
    return replace(job, recipe=recipe, machine=machine, plan=plan)


def _encode(recipe: Recipe, data: Dataset, tokenizer: Any, limit: int | None) -> EncodedSplits:
    def encoded(split: Examples, length: int) -> Encoded:
        return data.task.encode(split, tokenizer, length, recipe.overwrite_cache)

    most = most_tokens(recipe, limit)
    train = encoded(data.train, most) if data.train and recipe.wants_training else None
    validation = {name: encoded(split, most) for name, split in data.validation.items()}
    longest = max((int(split.lengths.max()) for split in (train, *validation.values()) if split), default=most)
    enough = enough_tokens(recipe, limit, longest)
    test = {name: encoded(split, enough) for name, split in data.test.items() if recipe.wants_prediction}
    return EncodedSplits(train, validation, test)


def _plan(
    recipe: Recipe,
    machine: Machine,
    data: Dataset,
    model: ModelFacts,
    rows: EncodedSplits,
    estimator: Estimator | None = None,
) -> Plan:
    task = data.task
    task.check(recipe)
    metrics = (*task.metrics, task.main_metric, "loss")
    facts = TaskFacts(metrics, task.main_metric, data.labels.outputs, task.lower_is_better, task.reads)
    encoded = Rows(
        lengths=rows.train.lengths if rows.train else None,
        evaluated=tuple(split.lengths for split in (*rows.validation.values(), *rows.test.values())),
        has_validation=bool(rows.validation),
        pads_left=any(split.pad_left for split in rows.all()),
        words=len(np.unique(rows.train.tokens)) if rows.train else 0,
        learnt=_learnt(rows.train) if rows.train and task.reads == "targets" else None,
    )
    cache_bytes = cache.LIMIT_BYTES if cache.folder() else 0
    return make_plan(recipe, machine, facts, model, encoded, cache_bytes, estimator)


def _learnt(encoded: Encoded) -> np.ndarray:
    """Tokens of each row that have a label."""
    assert encoded.labels is not None
    return np.add.reduceat(encoded.labels != NO_LABEL, encoded.offsets[:-1], dtype=np.int64)


def _foreign_script(data: Dataset, tokenizer: Any) -> str | None:
    """What to warn of where a split is written in a script that the tokenizer does not know."""
    splits = filter(None, (data.train, *data.validation.values(), *data.test.values()))
    for texts in (texts for split in splits for texts in (split.texts, split.pairs)):
        if texts and (problem := unfamiliar(texts, tokenizer)):
            return f"{problem}. {OTHER_MODELS}"
    return None


def _check_vocabulary(rows: EncodedSplits, config: Any) -> None:
    """A token that the model has no row for would stop a GPU in the middle of the run, in words of its own."""
    size = getattr(config, "vocab_size", None)
    largest = max((int(split.tokens.max()) for split in rows.all() if len(split.tokens)), default=0)
    if size is not None and largest >= size:
        raise PippinError(
            f"the tokenizer and the model do not belong together: token {largest}, but a vocabulary of {size}. "
            "Check --tokenizer_name, or the tokenizer's files in the model's folder."
        )


def _show(job: PlannedJob, terminal: Terminal) -> None:
    data, rows = job.data, job.rows
    for note in dict.fromkeys(note for split in rows.all() for note in split.notes):
        terminal.note(note)
    cut, total = sum(split.cut for split in rows.all()), sum(len(split) for split in rows.all())
    if cut:
        length, limit = job.plan.batches.max_length.value, job.facts.longest_input
        said = f"{cut} of {total} texts are longer than {length} tokens and were cut."
        if cut > _MANY * total and length < (limit or math.inf):
            terminal.warn(f"{said} To read more of them: --max_seq_length {min(limit or 4 * length, 4 * length)}")
        else:
            terminal.note(said)
    sizes = [f"{len(data.train)} training"] if data.train is not None else []
    sizes += [
        f"{len(split)} {name.replace('_', ' ')}" for name, split in [*data.validation.items(), *data.test.items()]
    ]
    if rows.train is not None and rows.train.example is not None:
        terminal.show_example(*rows.train.example)
    headline = f"{data.name}: {', '.join(sizes)} rows, {data.task.kind} · {job.model}"
    terminal.show_plan(job.plan, headline, job.recipe.wants_training)
