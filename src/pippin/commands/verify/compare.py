"""One model on two devices: the same weights and rows, and how far the numbers are apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from pippin.commands.verify.invariants import before_a_changed_token, beside_a_longer_row
from pippin.commands.verify.measurement import Experiment, Measurement, measure, step
from pippin.commands.verify.tolerance import (
    allowed_error,
    allowed_errors,
    allowed_update_error,
    distance,
    distances,
    rounding,
    worst,
    yardstick,
)
from pippin.commands.verify.verdict import AGAIN, EVALUATION, GRADIENTS, LOSS, MODES, STEP, TRAINING, Finding
from pippin.engine.finite import require_finite
from pippin.machine.drivers.base import Backend


@dataclass(frozen=True)
class Reference:
    """What the CPU computes in fp32, and how far each tensor may be from it."""

    trace: Measurement
    outputs: dict[str, float]
    gradients: dict[str, float]


def compare(experiment: Experiment, cpu: Backend, device: Backend, precision: str) -> list[Finding]:
    """The device in this precision against the CPU in fp32, on copies of the model."""
    on_cpu = experiment.placed(cpu)
    wanted = refer(experiment, on_cpu, cpu, precision)
    after = step(experiment, experiment.make_plain(on_cpu, cpu), wanted.trace.gradients)
    network = experiment.make_network(experiment.placed(device), device, precision)
    found = measure(experiment, network)
    again = measure(experiment, network)
    longer = beside_a_longer_row(experiment, network, cpu, wanted.outputs[EVALUATION])
    later = before_a_changed_token(experiment, network, cpu)
    stepped = step(experiment, network, wanted.trace.gradients)  # last, for it changes the weights
    return [
        *findings_of(found, wanted),
        worst(STEP, distances(stepped, after), dict.fromkeys(after, allowed_update_error())),
        *(finding for finding in (later, longer) if finding is not None),
        worst(AGAIN, distances(again.all, found.all), {**wanted.outputs, **wanted.gradients}),
    ]


def compare_in_place(experiment: Experiment, cpu: Backend, device: Backend, precision: str) -> list[Finding]:
    """The short version: once, up to the gradients. The model itself moves to the device, and is gone afterwards."""
    wanted = refer(experiment, experiment.model, cpu, precision)
    experiment.model.zero_grad(set_to_none=True)  # not to be placed too
    model = device.place(experiment.model)
    device.guard(model)
    found = measure(experiment, experiment.make_network(model, device, precision))
    model.to("meta")  # its memory is free from here on, whoever still holds the model
    return findings_of(found, wanted)


def refer(experiment: Experiment, model: torch.nn.Module, cpu: Backend, precision: str) -> Reference:
    """Run the model on the CPU in fp32, and once more with rounded products, to see what that does."""
    exact, network = allowed_error(model), experiment.make_plain(model, cpu)
    wanted = measure(experiment, network)
    # A model that gives NaN everywhere is not the device's fault, and has nothing to be compared.
    places = np.concatenate([np.sort(rows) for rows in experiment.batches])
    places = np.repeat(places, experiment.lines_of(places, len(wanted.logits)))
    for logits in (wanted.evaluated, wanted.logits):
        require_finite(logits.numpy(), places, experiment.encoded, network)
    with rounding(yardstick(precision)):
        rounded = measure(experiment, experiment.make_plain(model, cpu))
    # The loss is one number, which can be right by luck where the logits are not.
    off = max(distances(rounded.outputs, wanted.outputs).values())
    outputs = allowed_errors(exact, precision, dict.fromkeys(wanted.outputs, off))
    gradients = allowed_errors(exact, precision, distances(rounded.gradients, wanted.gradients))
    return Reference(wanted, outputs, gradients)


def findings_of(found: Measurement, wanted: Reference) -> list[Finding]:
    right, allowed = wanted.trace, wanted.outputs
    return [
        Finding(EVALUATION, distance(found.evaluated, right.evaluated), allowed[EVALUATION]),
        Finding(TRAINING, distance(found.logits, right.logits), allowed[TRAINING]),
        Finding(MODES, distance(found.evaluated, found.logits), allowed[EVALUATION]),
        Finding(LOSS, distance(found.loss, right.loss), allowed[LOSS]),
        worst(GRADIENTS, distances(found.gradients, right.gradients), wanted.gradients),
    ]
