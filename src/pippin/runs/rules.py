"""What a resumed run may change: by the rule beside each field of the plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pippin.errors import PippinError
from pippin.plan.plan import Choice, Plan, plan_fields
from pippin.recipe import Recipe
from pippin.runs.opening import located
from pippin.runs.record import Run

#: Settings of the recipe that no choice of the plan stands for, and whose change is refused. Of all others the plan
#: tells what became of them, or the fingerprint of the rows does, or no weight depends on them.
FIXED = ("model_name_or_path", "config_name", "tokenizer_name", "model_revision")
#: With any of these the schedule of the learning rate is another one, at the old place.
_RATES = {
    "learning_rate", "head_learning_rate", "steps", "warmup_steps", "lr_scheduler_type", "lr_scheduler_kwargs",
}  # fmt: skip


@dataclass(frozen=True)
class Changes:
    applied: tuple[str, ...]
    digits: tuple[str, ...]
    new_rates: bool
    """Whether the learning rate's schedule is another than before."""


def changes_since(before: Run, recipe: Recipe, plan: Plan, fingerprint: str, arithmetic: dict[str, str]) -> Changes:
    """What changed since a run was begun; refused where the rest would not belong to its beginning."""
    found = [*_choices(before.plan, plan), *_settings(located(before.recipe, before.directory), recipe)]
    fixed = [words for _, rule, words in found if rule == "fixed"]
    # Another seed deals other rows for validation, and another length cuts them elsewhere: then that is what changed.
    if before.fingerprint != fingerprint and not {"order_seed", "max_length"} & {name for name, _, _ in found}:
        fixed.insert(0, "the training or validation rows, or the classes")
    applied = tuple(words for _, rule, words in found if rule == "applied")
    if before.trained and applied:
        fixed.append(f"{applied[0]} (but its training is done)")
    if fixed:
        raise PippinError(
            f"this run cannot be resumed. Changed since it began: {'; '.join(dict.fromkeys(fixed))}. "
            "Undo that, or start over with --overwrite_output_dir or another --output_dir."
        )
    digits = [words for _, rule, words in found if rule == "digits"]
    digits += [
        f"{name} {before.arithmetic.get(name, '?')} → {arithmetic.get(name, '?')}"
        for name in before.arithmetic.keys() | arithmetic.keys()
        if before.arithmetic.get(name) != arithmetic.get(name)
    ]
    return Changes(applied, tuple(digits), any(name in _RATES for name, _, _ in found))


def _choices(before: Plan, plan: Plan) -> Iterator[tuple[str, str, str]]:
    then, now = before.everything(), plan.everything()
    for name, item in plan_fields().items():
        old, new = (each.value if isinstance(each, Choice) else each for each in (then[name], now[name]))
        if old != new:
            yield name, item.metadata["rule"], f"{item.metadata['changed'] or name} {old} → {new}"


def _settings(before: Recipe, recipe: Recipe) -> Iterator[tuple[str, str, str]]:
    for name in FIXED:
        old, new = getattr(before, name), getattr(recipe, name)
        if old != new and not _is_same_path(name, old, new):
            yield name, "fixed", f"{name} {old} → {new}"


def _is_same_path(name: str, old: Any, new: Any) -> bool:
    is_path = name != "model_revision" and None not in (old, new)
    return is_path and Path(old).exists() and Path(old).resolve() == Path(new).resolve()
