"""Going on with an unfinished run: which checkpoint, what changed since, and whether that still makes sense."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.checkpoints import packing
from pippin.checkpoints.manifest import problem_of, read
from pippin.checkpoints.store import Found, Store
from pippin.errors import PippinError
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.training.run import Run, read_run

#: Choices whose change would make the rest of the run nonsense, with the words for them.
_FIXED = {
    "precision": "precision",
    "max_length": "longest input",
    "batch_size": "batch",
    "batching": "order of rows",
    "frozen": "frozen part",
}
#: Choices that are applied when they change, and said.
_APPLIED = {
    "device": "device",
    "micro_batch": "micro-batch",
    "micro_tokens": "tokens at once",
    "learning_rate": "learning rate",
    "head_learning_rate": "head's rate",
    "epochs": "epochs",
    "steps": "steps",
    "warmup_steps": "warm-up",
    "eval_steps": "evaluations",
    "best_metric": "metric of the best model",
    "patience": "patience",
}
#: Choices that change nothing that matters to the rest of the run.
_FREE = {
    "pad_lengths",
    "logging_steps",
    "save_steps",
    "guards",
    "activations",
    "updates",
    "saving",
    "memory",
    "memory_budget",
    "layout",
    "last_layer",
    "states",
    "word_vectors",
    "step",
    "compiled",
    "capacities",
}
_RATES = {"learning_rate", "head_learning_rate", "steps", "warmup_steps"}
#: The same for settings that are in no plan.
_FIXED_SETTINGS = ("model_name_or_path", "seed", "data_seed", "optim", "optim_state", "dataloader_drop_last")
_APPLIED_SETTINGS = (
    "weight_decay",
    "max_grad_norm",
    "label_smoothing_factor",
    "lr_scheduler_type",
    "neftune_noise_alpha",
)


@dataclass(frozen=True)
class Resume:
    """Where a run goes on, and what is other than before."""

    path: Path
    """The checkpoint."""
    step: int
    changes: tuple[str, ...]
    """What is applied from here on, in words."""
    new_rates: bool
    """Whether the learning rate's schedule is another than before."""
    state: dict[str, Any]


def run_before(recipe: Recipe, own: Run | None) -> Run | None:
    """The run to go on with: that of the folder, or of a checkpoint that was named from elsewhere."""
    named = _named_checkpoint(recipe)
    if own is not None or named is None:
        return own
    _check(named)
    run = read_run(named.resolve().parent.parent)
    if run is None:
        raise PippinError(
            f"--resume_from_checkpoint {named}: the run that it belongs to is gone (no run.json above it)."
        )
    return run


def find_checkpoint(recipe: Recipe, store: Store) -> Found:
    """The checkpoint that was asked for, else the newest that verifies."""
    named = _named_checkpoint(recipe)
    return store.newest() if named is None else Found(named, _check(named), ())


def _named_checkpoint(recipe: Recipe) -> Path | None:
    named = recipe.resume_from_checkpoint
    return None if named is None or named.lower() in ("true", "false") else Path(named)


def _check(path: Path) -> int:
    """The step of a checkpoint; refused where it cannot be trusted."""
    problem = problem_of(path) if path.is_dir() else "there is no such folder"
    manifest = read(path)
    if problem or manifest is None:
        raise PippinError(f"--resume_from_checkpoint {path}: {problem}. Use --resume for the newest good one.")
    return manifest.step


def prepare_resume(path: Path, step: int, recipe: Recipe, plan: Plan, fingerprint: str, before: Run) -> Resume:
    """Go on from a checkpoint of the run before. Refused where it would give nonsense."""
    refuse_nonsense(before, recipe, plan, fingerprint)
    changed = [name for name in _APPLIED if getattr(before.plan, name).value != getattr(plan, name).value]
    words = [f"{_APPLIED[name]} {_value(before.plan, name)} → {_value(plan, name)}" for name in changed]
    settings = [name for name in _APPLIED_SETTINGS if getattr(before.recipe, name) != getattr(recipe, name)]
    words += [f"{name} {getattr(before.recipe, name)} → {getattr(recipe, name)}" for name in settings]
    new_rates = bool(_RATES & set(changed)) or "lr_scheduler_type" in settings
    return Resume(path, step, tuple(words), new_rates, packing.read(path))


def refuse_nonsense(before: Run, recipe: Recipe, plan: Plan, fingerprint: str) -> None:
    """Stop where the rest of the run would not belong to its beginning."""
    problems = [
        f"{words} {_value(before.plan, name)} → {_value(plan, name)}"
        for name, words in _FIXED.items()
        if getattr(before.plan, name).value != getattr(plan, name).value
    ]
    problems += [
        f"{name} {getattr(before.recipe, name)} → {getattr(recipe, name)}"
        for name in _FIXED_SETTINGS
        if getattr(before.recipe, name) != getattr(recipe, name)
    ]
    if before.fingerprint and before.fingerprint != fingerprint:
        problems.insert(0, "the training or validation rows, or the classes, are others")
    if problems:
        raise PippinError(
            f"this run cannot go on: since it began, {'; '.join(problems)}. "
            "Put that back, or start anew with --overwrite_output_dir or another --output_dir."
        )


def load_weights(model: Any, folder: Path) -> None:
    """Put the weights of a checkpoint into the model."""
    from safetensors.torch import load_model

    shards = sorted(path for path in folder.glob("*.safetensors") if path.name != packing.TENSORS)
    if not shards:
        raise PippinError(f"{folder}: the model's weights are gone, so it cannot be kept.")
    for shard in shards:
        load_model(model, shard, strict=len(shards) == 1)


def _value(plan: Plan, name: str) -> Any:
    return getattr(plan, name).value
