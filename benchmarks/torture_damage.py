"""Checkpoints that time or a hand has damaged, and numbers that are no numbers any more."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from torture_bench import Bench, Tally, last_line
from torture_job import PippinJob, fault_of


def _flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1 :]


def _zeros(data: bytes) -> bytes:
    """4 KB of zeros in the middle; a shorter file is zeros altogether."""
    start = max(0, (len(data) - 4096) // 2)
    return data[:start] + bytes(min(4096, len(data))) + data[start + 4096 :]


#: What can happen to a file, as a function of its bytes; None deletes it.
DAMAGES: dict[str, Callable[[bytes], bytes] | None] = {
    "delete": None,
    "empty": lambda data: b"",
    "cut half": lambda data: data[: len(data) // 2],
    "cut 1 byte": lambda data: data[:-1],
    "bit flip": _flip,
    "4 KB zeros": _zeros,
}
#: What a message about a bad checkpoint would have in it, after the checkpoint's name; Pippin says `skipped` before it.
_WORDS = "damaged|corrupt|missing|invalid|broken"


def damaged(bench: Bench, cases: list[tuple[str, str]], both: bool = False) -> Tally:
    """Files of the newest of two checkpoints, or of both, are damaged; then the same command.

    Silent means: used without a word, with another result at the end.
    """
    tally = Tally()
    template = bench.killed_run()
    for file, damage in cases:
        folder = bench.fresh(f"{'both' if both else 'newest'}-{file}-{damage.replace(' ', '-')}")
        shutil.copytree(template, folder, dirs_exist_ok=True)
        checkpoints = bench.tool.checkpoints(folder)[-2:]
        hurt = [_damage(checkpoint / file, damage) for checkpoint in (checkpoints if both else checkpoints[-1:])]
        child = bench.judge_resume(folder, tally, keep=True)
        name = rf"{checkpoints[-1].name}\b"
        said = re.search(rf"skipped {name}|{name}.*({_WORDS})", child.said) is not None
        same = child.code == 0 and bench.tool.result(folder) == bench.reference
        tally.count("said so, went on from an older one or anew, identical", said and same)
        tally.count("stopped", child.code != 0)
        tally.count("unnoticed, same result", same and not said)
        tally.count("silent, another result", child.code == 0 and not same and not said)
        if not same or (any(hurt) and not said):
            tally.fail(folder, f"exit code {child.code}, said: {last_line(child)}")
        shutil.rmtree(folder)
    return tally


def all_cases(files: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(file, damage) for file in files for damage in DAMAGES]


def not_finite(bench: Bench) -> Tally:
    """A learning rate of 1e6, and one NaN among the losses: the run stops and the last finite checkpoint loads."""
    job, tally = bench.tool, Tally()
    assert isinstance(job, PippinJob)
    ways = {"learning rate 1e6": _raise_the_rate, "one NaN": _inject_nan}
    for name, spoil in ways.items():
        folder = bench.fresh(name.replace(" ", "-"))
        child = job.start(folder, before=partial(spoil, job.steps // 2))
        code = child.wait()
        tally.trials += 1
        checkpoints = job.checkpoints(folder)
        stopped = tally.count(
            "stopped, exit code not 0", code != 0 and not child.crashed and "not finite" in child.errors
        )
        kept = tally.count("finite checkpoint kept", bool(checkpoints) and all(map(_is_finite, checkpoints)))
        whole = tally.count("checkpoints whole", all(fault_of(path) is None for path in checkpoints))
        names = [path.name for path in checkpoints]
        if not (stopped and kept and whole):
            tally.fail(folder, f"{name}: exit code {code}, checkpoints {names}, said: {last_line(child)}")
    return tally


def _damage(path: Path, damage: str) -> bool:
    """Damage a file; False where it still says the same: JSON without its last newline does."""
    change, before = DAMAGES[damage], path.read_bytes()
    if change is None:
        path.unlink()
        return True
    path.write_bytes(change(before))
    return path.suffix != ".json" or change(before).strip() != before.strip()


def _inject_nan(at: int) -> None:
    """In the child: the loss of one step is NaN."""
    from pippin.tasks.sequence.task import SequenceTask

    compute, calls = SequenceTask.loss, 0

    def once_nan(self: Any, logits: Any, labels: Any) -> Any:
        nonlocal calls
        calls += logits.requires_grad  # evaluations have losses, too
        loss = compute(self, logits, labels)
        return loss * math.nan if calls == at and logits.requires_grad else loss

    SequenceTask.loss = once_nan  # type: ignore[method-assign]


def _raise_the_rate(at: int) -> None:
    """In the child: a rate of 1e6 from some step on. The command itself refuses such a rate."""
    from torch.optim.optimizer import register_optimizer_step_pre_hook

    calls = 0

    def too_far(optimiser: Any, *_: Any) -> None:
        nonlocal calls
        calls += 1
        for group in optimiser.param_groups:
            group["lr"] = 1e6 if calls >= at else group["lr"]

    register_optimizer_step_pre_hook(too_far)


def _is_finite(checkpoint: Path) -> bool:
    """Whether transformers loads it, and every weight is a number."""
    import torch
    from safetensors import safe_open

    with safe_open(checkpoint / "model.safetensors", "pt") as file:
        return all(bool(torch.isfinite(file.get_tensor(name)).all()) for name in file.keys())  # noqa: SIM118
