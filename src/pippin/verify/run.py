"""From a planned job to a verdict: the model without dropout, a few of its rows, on the CPU and on the device."""

from __future__ import annotations

from typing import Any

from pippin.data.batches import training_order
from pippin.data.encoding import Encoded
from pippin.errors import PippinError
from pippin.machine.backends import get_backend
from pippin.models.attention import work_of
from pippin.models.loading import load_model
from pippin.planned import PlannedJob
from pippin.training.losses import Loss
from pippin.training.network import network_for
from pippin.training.optimiser import make_optimiser
from pippin.training.seeding import seed_everything
from pippin.verify.compare import Experiment, compare
from pippin.verify.verdict import Verdict

_BATCHES, _ROWS = 2, 8


def verify(job: PlannedJob) -> Verdict:
    """Compare the device that the plan chose with the CPU."""
    device, cpu = get_backend(job.plan.device.value), get_backend("cpu")
    if device.kind == cpu.kind:
        raise PippinError(
            "verify compares a GPU with the CPU, and this job would run on the CPU: there is nothing to compare. "
            "`pippin doctor` says why no GPU is used."
        )
    if job.recipe.tf32 is not None:
        device.set_tf32(job.recipe.tf32)
    precision = job.plan.precision.value
    seed_everything(job.recipe.seed, cpu)  # the new head draws from here
    config = without_dropout(job.config)
    model = load_model(job.recipe, config, device.attention(work_of(config, precision)))
    plan, rows = job.plan, _rows(job)
    order = training_order(rows.lengths, _ROWS, plan.batching.value, job.recipe.order_seed, epoch=0)
    experiment = Experiment(
        model,
        rows,
        order[:_BATCHES],
        Loss(job.data.labels.regression, job.recipe.label_smoothing_factor),
        lambda placed: make_optimiser(placed, job.recipe, plan),
        lambda placed, backend, precision: network_for(plan, placed, backend, precision),
    )
    shown = "tf32" if job.recipe.tf32 and precision == "fp32" else precision
    findings = compare(experiment, cpu, device, shown)
    return Verdict(device.kind, shown, job.model, experiment.rows, tuple(findings))


def without_dropout(config: Any) -> Any:
    """The configuration with every chance of dropping set to nothing."""
    for name, value in list(vars(config).items()):
        if "drop" in name and isinstance(value, float):
            setattr(config, name, 0.0)
        elif hasattr(value, "to_dict"):  # a configuration within
            without_dropout(value)
    return config


def _rows(job: PlannedJob) -> Encoded:
    if job.rows.train is None:
        raise PippinError("verify needs rows with labels to train on: name a file of them, or leave all files out.")
    return job.rows.train
