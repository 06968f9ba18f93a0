"""The finished model of a run: used only where every byte that is read is as training left it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

from pippin.errors import PippinError
from pippin.files import is_plain_file
from pippin.plain_files import odd_kind
from pippin.runs.checkpoints.lock import is_in_use
from pippin.runs.checkpoints.manifest import NAME as MANIFEST
from pippin.runs.checkpoints.manifest import problem_of, sha256
from pippin.runs.events import last_step
from pippin.runs.folder import EVENTS
from pippin.runs.record import NAME, Run, read_record

#: What transformers looks for in a model's folder.
_READ_BY_LOADERS = (
    "config.json", "model.safetensors", "model.safetensors.index.json", "model-*-of-*.safetensors", "adapter_*",
    "pippin_base.json",
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt",
    "*.model", "generation_config.json", "chat_template*",
)  # fmt: skip


def trained_run(folder: Path) -> Run | None:
    """The record of a folder whose model is to be used; None for a folder that Pippin did not write.

    Refused where training has not ended, or where anything that would be read was changed since. A checkpoint will do
    too.
    """
    if (folder / MANIFEST).exists():
        problem = problem_of(folder)
        if problem is not None:
            raise PippinError(f"{folder} cannot be used: {problem}.")
    try:
        run = read_record(folder)
    except PippinError as error:
        raise PippinError(f"{error} {_as_it_is(folder)}") from None
    if run is None or (folder / MANIFEST).exists():
        return run
    files = run.trained.files if run.trained else {name: digests[-1] for name, digests in run.before.items() if digests}
    if run.installing or not files:
        raise PippinError(_without_model(folder, run))
    problem = model_problem(folder, files)
    if problem is not None:
        raise PippinError(f"{folder}: {problem}, so its answers cannot be trusted. Restore it. {_as_it_is(folder)}")
    return run


def model_problem(folder: Path, files: Mapping[str, str]) -> str | None:
    """What is not as training left it, if anything."""
    for name, digest in files.items():
        if not is_plain_file(folder / name):
            return f"{name} is {odd_kind(folder / name) or 'missing'}"
        if sha256(folder / name) != digest:
            return f"{name} was changed or damaged since training finished"
    found = (path.name for path in folder.iterdir() if any(fnmatch(path.name, each) for each in _READ_BY_LOADERS))
    added = sorted(set(found) - files.keys())
    if not added:
        return None
    kind = odd_kind(folder / added[0])
    return f"{added[0]}{f', {kind},' if kind else ''} was added since training finished"


def _without_model(folder: Path, run: Run) -> str:
    if not run.trains:
        return f"{folder} holds results and no model: nothing was trained there. Name the folder of a trained model."
    step, steps = last_step(folder / EVENTS), run.plan.schedule.steps.value
    place = f"at step {step} of {steps}" if step else f"within its first steps of {steps}"
    if is_in_use(folder):
        return f"{folder} holds no trained model yet: its run is still at work, {place}. Wait for it to finish."
    return (
        f"{folder} holds no trained model yet: its run stopped {place}. "
        f"To continue: pippin resume {shlex.quote(str(folder))}"
    )


def _as_it_is(folder: Path) -> str:
    return f"To use the folder as it is, remove {shlex.quote(str(folder / NAME))}."
