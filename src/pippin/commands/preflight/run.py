"""From a planned job and a computer to the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pippin.commands.planning import PlannedJob, replanned
from pippin.commands.preflight.answer import Answer, Duration, Fits, Measured, Option, Problem, Runs
from pippin.commands.preflight.duration import estimated
from pippin.commands.preflight.fake import summed
from pippin.commands.preflight.link import link_costs
from pippin.commands.preflight.measuring import measured
from pippin.commands.preflight.memory import FakeEstimator, Forecast
from pippin.commands.preflight.operators import OperatorAnswer, calls_of, has_fused_optimiser, judge
from pippin.commands.preflight.target import Target, smallest_macs
from pippin.errors import PippinError
from pippin.machine.check import dotted, release
from pippin.machine.faults import HAZARDS, MacFacts, safe_attention
from pippin.machine.operators import Coverage, table
from pippin.machine.releases import macos_floor, newest_torch
from pippin.machine.traits import apple_gpu
from pippin.models.attention import work_of
from pippin.plan.frozen import CORE, NOTHING
from pippin.plan.memory import Estimate

#: Settings that need less memory, by their flags, in the order of how much they change.
_LESS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("--gradient_checkpointing", {"gradient_checkpointing": True}, "same gradient, about a third slower"),
    ("--bf16", {"bf16": True}, "less precise: about three significant digits"),
    ("--optim sgd", {"optim": "sgd"}, "another optimiser"),
    ("--unfreeze 2", {"unfreeze": 2}, "trains the last two layers and the head"),
    ("--freeze core", {"freeze": CORE}, "trains the head only"),
)
#: What Python and its libraries hold, as on the CPU after a model was loaded, in bytes.
_PYTHON = {"Python and its libraries": 448 << 20}
#: Choices that are made otherwise where memory is short.
_MEASURES = ("micro_batch", "activations", "updates", "step", "saving")


def preflight(job: PlannedJob, target: Target, measures: bool = False, link: str | None = None) -> Answer:
    """Will it run, will it fit, how long will it take?

    ``measures`` runs a real step on this computer as well. ``link`` is what lies between several computers.
    """
    unknown, fits, found = "", None, None
    runs = _runs(job, target)
    if job.rows.train is not None:
        try:
            estimator = FakeEstimator(job)
            found = estimator.of(replanned(job, estimator=estimator))
        except Exception as error:  # a model may want to see values, which fake tensors do not have
            unknown = f"memory and time, since this model cannot run on fake tensors ({type(error).__name__})"
        else:
            fits = _fits(job, estimator.forecasts[0], found)
            if _mac(found.job) and found.step.doubles:
                what = f"{', '.join(found.step.doubles)} return float64, which the Apple GPU does not have"
                runs = replace(runs, problems=(*runs.problems, Problem(what, "train with --use_cpu", stops=True)))
    tried = measured(found.job if found else job) if measures and job.rows.train is not None else None
    return Answer(
        job=f"{job.data.name} · {job.model}",
        target=target.description
        | {"device": job.plan.execution.device.value, "precision": job.plan.execution.precision.value},
        runs=runs,
        fits=fits,
        duration=_duration(job, found, tried, target),
        disk=found.disk if found else 0,
        measured=tried,
        unknown=unknown,
        links=link_costs(found, job.recipe.computers, link) if found and job.recipe.computers > 1 else (),
    )


def _runs(job: PlannedJob, target: Target) -> Runs:
    problems: list[Problem] = []
    mac = _mac(job)
    if target.macos and release(target.macos) < (floor := macos_floor(target.machine.torch)):
        newest = newest_torch(target.macos)
        older = f", or: pip install 'torch=={newest}.*'" if newest else ""
        what = f"torch {target.machine.torch} needs macOS {dotted(floor)} or newer, but this Mac has {target.macos}"
        problems.append(Problem(what, f"update macOS in System Settings{older}", stops=True))
    problems += [
        Problem(f"known PyTorch bug {hazard.source}: {hazard.wrong}", f"worked around: {hazard.remedy.value}", False)
        for hazard in HAZARDS
        if hazard.name in job.plan.execution.guards.value
    ]
    operators = None
    if mac:
        try:
            operators = judged_operators(job.config, job.plan.execution.precision.value, mac)
        except Exception as error:  # a class whose sizes cannot be made small
            problems.append(
                Problem(f"its operators could not be checked ({type(error).__name__})", "try it on that Mac", False)
            )
        else:
            problems += _operator_problems(operators, target.machine.torch, job.recipe.mps_fallback == "on")
    return Runs(tuple(problems), operators)


def judged_operators(config: Any, precision: str, mac: MacFacts) -> OperatorAnswer:
    """What becomes of the model's operators on the GPU of a Mac."""
    known, attention = table(mac.torch), safe_attention(mac, work_of(config, precision))
    return judge(calls_of(config, apple_gpu(mac, None), attention, has_fused_optimiser(known)), known)


def _mac(job: PlannedJob) -> MacFacts | None:
    """The Mac on whose GPU the job runs."""
    return job.machine.device(job.plan.execution.device.value).mac


def _operator_problems(operators: OperatorAnswer, torch: str, falls_back: bool) -> Iterator[Problem]:
    for finding in operators.findings:
        since = finding.native_since
        newer = f"pip install 'torch>={since}'" if since else "no torch release has it yet"
        if finding.coverage is Coverage.NEVER:
            yield Problem(
                f"{finding.name} runs neither on the Apple GPU nor on the CPU", f"{newer}; or --use_cpu", stops=True
            )
        elif finding.coverage is Coverage.FALLBACK and not falls_back:
            cure = f"{newer}; or --mps_fallback on"
            yield Problem(f"{finding.name} is missing on the Apple GPU in torch {torch}", cure, stops=True)
        else:
            what = f"{finding.name} runs on the CPU, which is slow ({finding.calls} calls per step of a small model)"
            yield Problem(what, newer, stops=False)


def _fits(job: PlannedJob, asked: Forecast, found: Forecast) -> Fits:
    beside = _PYTHON if _mac(job) else {}  # the GPU shares the computer's memory
    budget, as_asked = job.plan.memory.budget.value, asked.memory.total + sum(beside.values())
    memory = Estimate({**found.memory.parts, **beside})
    too_much = bool(budget) and as_asked > budget
    before, after = asked.job.plan.choices(), found.job.plan.choices()
    changed = [name for name in _MEASURES if before[name].value != after[name].value]
    return Fits(
        needed=memory.total,
        budget=budget,
        as_asked=as_asked,
        parts=dict(sorted(summed(memory.parts).items(), key=lambda part: -part[1])),
        layers={name: size for name, size in memory.parts.items() if name.startswith("layer ")},
        settings={name: f"{after[name].value}, not {before[name].value}" for name in changed},
        options=tuple(_options(job, found)) if too_much else (),
        smallest=tuple(smallest_macs(as_asked if memory.total <= budget else memory.total)) if too_much else (),
    )


def _options(job: PlannedJob, found: Forecast) -> Iterator[Option]:
    """What other settings would need, each alone, by the plan's quick estimate, corrected by the fake step."""
    quick = job.plan.memory.needed.value
    if not quick:
        return
    for flags, changes, note in _LESS:
        asked = all(getattr(job.recipe, name) == value for name, value in changes.items())
        if asked or (job.plan.execution.frozen.value != NOTHING and {"freeze", "unfreeze"} & changes.keys()):
            continue
        try:
            other = replanned(job, **changes)
        except PippinError:  # not possible there, as bf16 on an old macOS
            continue
        yield Option(flags, int(other.plan.memory.needed.value * found.memory.total / quick), note)


def _duration(job: PlannedJob, found: Forecast | None, tried: Measured | None, target: Target) -> Duration | None:
    """As measured, or where the chip's speed is known and the GPU is what runs it, as estimated."""
    if tried and tried.step is not None:
        # The heaviest step was measured, so that most take less.
        seconds = job.plan.schedule.steps.value * tried.step
        return Duration(
            seconds / 2, seconds, seconds * 1.2, tried.step, "from the heaviest step, measured on this computer"
        )
    return estimated(found, target.chip) if found and target.chip and _mac(found.job) else None
