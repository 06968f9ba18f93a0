"""From a planned job to a verdict: the model without dropout, a few of its rows, on the CPU and on the device."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from pippin.commands.planning import PlannedJob
from pippin.commands.verify.compare import compare
from pippin.commands.verify.measurement import Experiment
from pippin.commands.verify.verdict import Verdict
from pippin.commands.verify.walk import located
from pippin.commands.verify.window import past_window
from pippin.data.batches import training_order
from pippin.data.collate import NO_LABEL
from pippin.data.encoding import Encoded
from pippin.engine.network import network_for
from pippin.engine.optimiser import make_optimiser
from pippin.engine.seeding import seed_everything
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.drivers.base import Backend
from pippin.models.attention import window_of, work_of
from pippin.models.freezing import FrozenPart
from pippin.models.loading import load_model
from pippin.plan.frozen import NOTHING, frozen_layers

_BATCHES, _ROWS = 2, 8


def verify(job: PlannedJob) -> Verdict:
    """Compare the device that the plan chose with the CPU."""
    device, cpu = get_backend(job.plan.execution.device.value), get_backend("cpu")
    if not device.traits.is_gpu:
        raise PippinError(
            "verify compares a GPU with the CPU, and this job would run on the CPU: there is nothing to compare. "
            "`pippin doctor` says why no GPU is used."
        )
    if job.recipe.tf32 is not None:
        device.set_tf32(job.recipe.tf32)
    rows = rows_of(job)
    order = training_order(rows.lengths, _ROWS, job.plan.batches.batching.value, job.recipe.order_seed, epoch=0)
    experiment = experiment_of(job, order[:_BATCHES], device)
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
    rows = rows_of(job)
    if window := window_of(config):
        limit = min(plan.batches.max_length.value, longest or plan.batches.max_length.value)
        rows, more = past_window(rows, np.concatenate(list(batches)), window, limit)
        batches = [*batches, *more]
    return Experiment(
        model,
        replace(rows, labels=other_labels(rows.labels, job.data.labels.outputs)),
        batches,
        job.data.task,
        lambda placed: make_optimiser(placed, plan),
        lambda placed, backend, precision: network_for(plan, placed, backend, precision, job.data.task.reads),
    )


def other_labels(labels: np.ndarray | None, outputs: int) -> np.ndarray | None:
    """Labels that the rows do not have: the next class, or the number with its sign turned.

    A model that knows the right ones already has a gradient of nearly nothing there, in which only rounding is left.

    >>> other_labels(np.array([0, 1, 2]), 3)
    array([1, 2, 0])
    """
    if labels is None:
        return None
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
    """The rows to train on."""
    if job.rows.train is None:
        raise PippinError("verify needs rows with labels to train on: name a file of them, or leave all files out.")
    return job.rows.train
