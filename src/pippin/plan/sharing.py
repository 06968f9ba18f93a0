"""How several processes share the steps of a job."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from pippin.errors import PippinError
from pippin.machine.machine import Machine
from pippin.machine.traits import DeviceTraits
from pippin.plan.plan import Choice, Plan, Weights
from pippin.recipe import Recipe
from pippin.tasks.base import Reads

WHOLE: Final = "whole"
SPREAD: Final = "spread"
#: Shards of a step: one, two and four processes can deal them out evenly.
_FEWEST_SHARDS = 4


def gradient_sums(plan: Plan) -> int:
    """How many copies of the whole gradient a process holds while it adds up shards, or what others send; 0: none."""
    shards, processes = plan.execution.shards.value, plan.execution.processes.value
    if plan.execution.weights.value == SPREAD:
        return 0
    if shards:
        return 1 + math.ceil(math.log2(max(shards // processes, 1)))
    return 1 if processes > 1 else 0


def as_started(recipe: Recipe, machine: Machine) -> Machine:
    """With the processes that a recipe asks for, where none were started yet: so a forecast sees them."""
    if machine.launcher:
        return machine
    if recipe.computers > 1:
        return replace(machine, processes=recipe.computers, local_processes=1, launcher="--hosts")
    if recipe.processes:
        return replace(machine, processes=recipe.processes, local_processes=recipe.processes, launcher="--processes")
    return machine


def choose_processes(machine: Machine) -> Choice[int]:
    """As many as the launcher has started."""
    if machine.processes == 1:
        return Choice(1, "nothing else was started")
    here = f", {machine.local_processes} on this computer" if machine.local_processes < machine.processes else ""
    return Choice(machine.processes, f"started by {machine.launcher}{here}; they share the rows of every step")


def choose_weights(recipe: Recipe, machine: Machine, traits: DeviceTraits, reads: Reads) -> Choice[Weights]:
    """Spread over the processes only where that was asked for."""
    if not recipe.shard:
        return Choice(WHOLE, "every process holds the whole model" if machine.processes > 1 else "one process has all")
    problems = {
        "it spreads a model over several processes, and there is one": machine.processes == 1,
        "the Apple GPU has no collectives that torch's fully_shard could use": traits.mac is not None,
        "language models are not spread. To train one in less memory: --train lora": reads == "targets",
        "--reduce exact needs whole gradients": recipe.reduce == "exact",
        "--fp16 scales each part's gradient by itself; use --bf16": recipe.fp16,
        "--optim_state bf16 updates whole tensors": recipe.optim_state == "bf16",
        f"--optim {recipe.optim} looks at whole tensors; use adamw": recipe.optim == "adafactor",
        "what is frozen is not spread; leave out --freeze": bool(recipe.freeze or recipe.unfreeze or recipe.train_only),
    }
    for problem, holds in problems.items():
        if holds:
            raise PippinError(f"--shard: {problem}.")
    each = f"1/{machine.processes} of weights, gradients and optimiser state"
    return Choice(SPREAD, f"set by --shard: each process holds {each}; saved as an ordinary model")


def choose_shards(recipe: Recipe, machine: Machine, traits: DeviceTraits) -> Choice[int]:
    """A fixed number where the weights must not depend on the number of processes; 0: one part for each process."""
    if recipe.shard:
        return Choice(0, "--shard adds up parts of the gradient")
    wanted = recipe.reduce or ("exact" if machine.launcher and traits.exact_by_default else "fast")
    if wanted == "fast":
        why = "requested with --reduce fast" if recipe.reduce else "the same gradient, up to its last digits"
        return Choice(0, why if machine.processes > 1 else "one process takes all rows")
    shards = _FEWEST_SHARDS
    while shards < machine.processes:
        shards *= 2
    return Choice(
        shards,
        f"exact: 1 to {shards} processes end with the same weights, bit for bit, if their processors and threads are "
        f"alike. Each step is computed in {shards} parts, which is slower than --reduce fast",
    )
