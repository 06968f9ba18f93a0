"""From a planned job to a verdict: the model without dropout, a few of its rows, on the CPU and on the device.

Before training there is a short version of it, up to the gradients: no run begins on a faulty GPU.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from pippin.commands.planning import PlannedJob
from pippin.commands.verify.compare import compare, compare_in_place
from pippin.commands.verify.measurement import Experiment
from pippin.commands.verify.verdict import Verdict
from pippin.commands.verify.walk import located
from pippin.data.batches import training_order
from pippin.data.collate import NO_LABEL
from pippin.data.encoding import Encoded
from pippin.engine.network import network_for, prepare_weights
from pippin.engine.optimiser import make_optimiser
from pippin.engine.seeding import seed_everything
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.drivers.base import Backend
from pippin.machine.traits import CPU
from pippin.models.attention import window_of, work_of
from pippin.models.freezing import FrozenPart
from pippin.models.language_network import LanguageNetwork
from pippin.models.loading import load_model
from pippin.models.network import Network
from pippin.plan.frozen import NOTHING, frozen_layers

_BATCHES, _ROWS = 2, 8


def verify(job: PlannedJob) -> Verdict:
    device, cpu = get_backend(job.plan.execution.device.value), get_backend("cpu")
    if not device.traits.is_gpu:
        raise PippinError(
            "verify compares a GPU with the CPU, but this job would run on the CPU. "
            "`pippin doctor` says why no GPU is used."
        )
    if job.recipe.tf32 is not None:
        device.set_tf32(job.recipe.tf32)
    rows = rows_of(job)
    order = training_order(rows.lengths, _ROWS, job.plan.batches.batching.value, job.recipe.order_seed, epoch=0)
    # Of a whole vocabulary's logits few rows are enough.
    batches = [short_rows(rows.lengths)] if job.data.task.reads == "targets" else order[:_BATCHES]
    experiment = experiment_of(job, batches, device)
    findings = compare(experiment, cpu, device, shown_precision(job))
    findings = located(findings, experiment, cpu, device, shown_precision(job))
    return Verdict(device.kind, shown_precision(job), job.model, experiment.rows, tuple(findings))


def experiment_of(
    job: PlannedJob, batches: Sequence[np.ndarray], device: Backend, longest: int | None = None
) -> Experiment:
    """The job's model as it is trained, with its weights on the CPU and without dropout, and some of its rows.

    Where the model has a window, rows past it are added, unless they were longer than the job's or than ``longest``.
    """
    plan = job.plan
    seed_everything(plan.execution.seed, device)  # the new head draws from here
    config = without_dropout(copy.deepcopy(job.config))
    attention = device.attention(work_of(config, plan.execution.precision.value))
    model: torch.nn.Module = load_model(job.recipe, config, attention, auto_model=job.data.task.auto_model)
    if plan.execution.frozen.value != NOTHING:
        FrozenPart(model, frozen_layers(plan.execution.frozen.value))
    prepare_weights(plan, model)
    rows, reads = rows_of(job), job.data.task.reads
    if window := window_of(config):
        limit = min(plan.batches.max_length.value, longest or plan.batches.max_length.value)
        rows, more = past_window(rows, np.concatenate(list(batches)), window, limit)
        batches = [*batches, *more]
    return Experiment(
        model,
        replace(rows, labels=other_labels(rows.labels, job.data.labels.outputs or config.vocab_size)),
        batches,
        job.data.task,
        lambda placed: make_optimiser(placed, plan),
        lambda placed, backend, precision: _showing(network_for(plan, placed, backend, precision, reads)),
        Network if reads != "targets" else _plain_language_network,
    )


def _plain_language_network(model: torch.nn.Module, backend: Backend) -> Network:
    return _showing(LanguageNetwork(model, backend))


def _showing(network: Network) -> Network:
    """With the logits of a language model, which it keeps to itself while it trains."""
    if isinstance(network, LanguageNetwork):
        network.shows_logits = True
    return network


def other_labels(labels: np.ndarray | None, outputs: int) -> np.ndarray | None:
    """Labels that the rows do not have: the next class, or the number with its sign turned.

    A model that knows the right ones already has a gradient of nearly nothing there, in which only rounding is left.

    >>> other_labels(np.array([0, 1, 2]), 3)
    array([1, 2, 0])
    """
    if labels is None:
        return None
    if labels.ndim > 1:  # each row may have several
        return 1 - labels
    return -labels if outputs == 1 else np.where(labels == NO_LABEL, labels, (labels + 1) % outputs)


def shown_precision(job: PlannedJob) -> str:
    """With TF32, which is a way to take products of fp32 and no precision of the plan's."""
    precision = job.plan.execution.precision.value
    return "tf32" if job.plan.execution.tf32 and precision == "fp32" else precision


def without_dropout(config: Any) -> Any:
    """The configuration with every chance of dropping set to nothing."""
    for name, value in list(vars(config).items()):
        if "drop" in name and isinstance(value, float):
            setattr(config, name, 0.0)
        elif hasattr(value, "to_dict"):  # a configuration within
            without_dropout(value)
    return config


def rows_of(job: PlannedJob) -> Encoded:
    if job.rows.train is None:
        raise PippinError("verify needs labelled rows to train on: name a file, or leave all files out.")
    return job.rows.train


#: Tokens of padding that see no text.
_BEYOND = 8


def past_window(encoded: Encoded, among: np.ndarray, window: int, longest: int) -> tuple[Encoded, list[np.ndarray]]:
    """The rows with two made-up ones added, and batches with them: both alone, and the shortest beside one of them.

    A token that sees nothing at all, as padding farther off than a window reaches, is where devices go wrong, and a
    job's first rows may all be too short for that. The new rows repeat the tokens of those ``among`` which to look.
    There are none, and no batches, where no row may be long enough.
    """
    short = int(among[encoded.lengths[among].argmin()])
    length = int(encoded.lengths[short]) + window + _BEYOND
    if length > longest:
        return encoded, []
    first = len(encoded)
    made = _with_row(_with_row(encoded, short, length), int(among[-1]), length)
    return made, [np.array([first, first + 1]), np.array([short, first])]


def _with_row(encoded: Encoded, row: int, length: int) -> Encoded:
    """A row more, of another's tokens."""
    places = slice(encoded.offsets[row], encoded.offsets[row + 1])
    labels, types = encoded.labels, encoded.token_type_ids
    if labels is not None:
        more = np.resize(labels[places], length) if encoded.per_token else labels[row : row + 1]
        labels = np.concatenate([labels, more])
    return replace(
        encoded,
        tokens=np.append(encoded.tokens, np.resize(encoded.tokens[places], length)),
        token_type_ids=None if types is None else np.append(types, np.resize(types[places], length)),
        offsets=np.append(encoded.offsets, encoded.offsets[-1] + length),
        labels=labels,
        rows=[*encoded.rows, encoded.rows[row]] if encoded.rows else (),
    )


#: Rows, if possible of no more tokens than this, among the first of the job's.
_FEW_ROWS, _FEW_TOKENS, _AMONG = 4, 32, 1000
#: Most tokens of a row that is made for a model with a window.
_LONGEST_MADE = 512


def verify_first(job: PlannedJob, device: Backend, say: Callable[[str], None]) -> str:
    """Compare the GPU of a job that trains with the CPU, where that is wanted; returns a sentence for the report.

    Stops where they disagree. The model is loaded for this alone and let go, so that training finds the device as if
    nothing had been there.
    """
    if (job.recipe.verify or ("short" if device.traits.verifies_first else "off")) == "off":
        return "not verified. To compare the device with the CPU: pippin verify"
    if job.recipe.tf32 is not None:
        device.set_tf32(job.recipe.tf32)
    try:
        verdict = _compare(job, get_backend(CPU), device)
    except (RuntimeError, MemoryError) as error:
        if not device.is_out_of_memory(error):
            raise
        found = "not verified: there was not enough memory for it."
    else:
        if not verdict.agrees:
            raise PippinError(_refusal(verdict))
        found = (
            f"verified: logits, loss and gradients of {verdict.rows} rows on {verdict.device} in {verdict.precision} "
            f"match the CPU's ({verdict.worst.name}: {verdict.worst.figures})."
        )
    device.empty_cache()
    say(found)
    return found


def short_rows(lengths: np.ndarray) -> np.ndarray:
    """A few rows of different lengths, none of them long where there are enough short ones.

    >>> short_rows(np.array([100, 9, 40, 7, 12, 8, 10]))
    array([1, 3, 4, 5])
    """
    order = np.argsort(lengths[:_AMONG], kind="stable")
    count = max(int((lengths[order] <= _FEW_TOKENS).sum()), min(_FEW_ROWS, len(order)))
    return np.unique(order[np.linspace(0, count - 1, _FEW_ROWS).astype(int)])


def _compare(job: PlannedJob, cpu: Backend, device: Backend) -> Verdict:
    precision, batches = shown_precision(job), [short_rows(rows_of(job).lengths)]
    lacking = device.counting_fallbacks(lambda operator: None) if job.recipe.mps_fallback == "on" else nullcontext()
    with lacking:
        experiment = experiment_of(job, batches, device, _LONGEST_MADE)
        findings = compare_in_place(experiment, cpu, device, precision)
        if not all(finding.agrees for finding in findings):
            # The walk wants the model on the CPU: the one of the comparison is on the device by now.
            findings = located(findings, experiment_of(job, batches, device, _LONGEST_MADE), cpu, device, precision)
    return Verdict(device.kind, precision, job.model, experiment.rows, tuple(findings))


def _refusal(verdict: Verdict) -> str:
    found = verdict.worst
    place = f", first in {found.module}" if found.module else f", most in {found.worst}" if found.worst else ""
    return (
        f"the device {verdict.device} does not give the CPU's results for this model: {found.name}: "
        f"{found.figures}{place}. A model trained on it would be wrong. Train on the CPU with --use_cpu, list all "
        "differences with `pippin verify`, or train anyway with --verify off."
    )
