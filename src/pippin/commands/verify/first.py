"""The short comparison before training: a few short rows, up to the gradients. No run begins on a faulty GPU."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np

from pippin.commands.planning import PlannedJob
from pippin.commands.verify.compare import compare_in_place
from pippin.commands.verify.verdict import Finding, Verdict
from pippin.commands.verify.verify import experiment_of, rows_of, shown_precision
from pippin.commands.verify.walk import located
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.drivers.base import Backend
from pippin.machine.traits import CPU

#: Rows, if possible of no more tokens than this, among the first of the job's.
_ROWS, _TOKENS, _AMONG = 4, 32, 1000
#: Most tokens of a row that is made for a model with a window.
_LONGEST = 512


def verify_first(job: PlannedJob, device: Backend, say: Callable[[str], None]) -> str:
    """Compare the GPU of a job that trains with the CPU, where that is wanted; returns a sentence for the report.

    Stops where they disagree. The model is loaded for this alone and let go, so that training finds the device as if
    nothing had been there.
    """
    if (job.recipe.verify or ("short" if device.traits.verifies_first else "off")) == "off":
        return "not verified. `pippin verify` does that."
    if job.recipe.tf32 is not None:
        device.set_tf32(job.recipe.tf32)
    try:
        verdict = _compare(job, get_backend(CPU), device)
    except (RuntimeError, MemoryError) as error:
        if not device.is_out_of_memory(error):
            raise
        found = "not verified: there was no memory for it."
    else:
        if not verdict.agrees:
            raise PippinError(_refusal(verdict))
        found = (
            f"verified: logits, loss and gradients of {verdict.rows} rows on {verdict.device} in {verdict.precision} "
            f"are the CPU's ({verdict.worst.name} {_figures(verdict.worst)})."
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
    count = max(int((lengths[order] <= _TOKENS).sum()), min(_ROWS, len(order)))
    return np.unique(order[np.linspace(0, count - 1, _ROWS).astype(int)])


def _compare(job: PlannedJob, cpu: Backend, device: Backend) -> Verdict:
    precision, batches = shown_precision(job), [short_rows(rows_of(job).lengths)]
    lacking = device.counting_fallbacks(lambda operator: None) if job.recipe.mps_fallback == "on" else nullcontext()
    with lacking:
        experiment = experiment_of(job, batches, device, _LONGEST)
        findings = compare_in_place(experiment, cpu, device, precision)
        if not all(finding.agrees for finding in findings):
            # The walk wants the model on the CPU: the one of the comparison is on the device by now.
            findings = located(findings, experiment_of(job, batches, device, _LONGEST), cpu, device, precision)
    return Verdict(device.kind, precision, job.model, experiment.rows, tuple(findings))


def _refusal(verdict: Verdict) -> str:
    found = verdict.worst
    place = f", first in {found.module}" if found.module else f", most in {found.worst}" if found.worst else ""
    return (
        f"the device {verdict.device} does not give the CPU's results for this model: {found.name} "
        f"{_figures(found)}{place}. A model trained on it would be wrong. Train on the CPU with --use_cpu, see all "
        "that differs with `pippin verify`, or train all the same with --verify off."
    )


def _figures(finding: Finding) -> str:
    if not finding.is_finite:
        return "are no numbers there (NaN or infinity), or missing"
    return f"differ by {finding.error:.1e}, where up to {finding.allowed:.1e} is rounding"
