"""What a resumed run may change. Every choice of the plan and every setting of the recipe falls under one rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pippin.errors import PippinError
from pippin.plan.plan import Plan
from pippin.recipe import Recipe
from pippin.runs.opening import located
from pippin.runs.record import Run

Rule = Literal["fixed", "applied", "digits", "free", "planned"]
"""fixed: the rest of the run would not belong to its beginning, so a change is refused.
applied: holds from here on, and is said.
digits: the same results but for their last digits, and is said.
free: no weight depends on it, or the rows' fingerprint tells.
planned: (of settings) what becomes of it is a choice of the plan."""

#: By choice of the plan: the rule, and the words for it.
CHOICES: dict[str, tuple[Rule, str]] = {
    "device": ("applied", "device"),
    "precision": ("fixed", "precision"),
    "max_length": ("fixed", "longest input"),
    "batch_size": ("fixed", "batch"),
    "micro_batch": ("applied", "micro-batch"),
    "micro_tokens": ("applied", "tokens at once"),
    "batching": ("fixed", "order of rows"),
    "pad_lengths": ("digits", "padded lengths"),
    "learning_rate": ("applied", "learning rate"),
    "head_learning_rate": ("applied", "head's rate"),
    "epochs": ("applied", "epochs"),
    "steps": ("applied", "steps"),
    "warmup_steps": ("applied", "warm-up"),
    "logging_steps": ("free", ""),
    "eval_steps": ("applied", "evaluations"),
    "save_steps": ("free", ""),
    "best_metric": ("applied", "metric of the best model"),
    "patience": ("applied", "patience"),
    "guards": ("digits", "guards"),
    "activations": ("digits", "activations"),
    "updates": ("digits", "updates"),
    "saving": ("free", ""),
    "memory": ("free", ""),
    "memory_budget": ("free", ""),
    "layout": ("digits", "layout"),
    "last_layer": ("digits", "last layer"),
    "frozen": ("fixed", "frozen part"),
    "states": ("free", ""),
    "word_vectors": ("free", ""),
    "step": ("digits", "steps run as"),
    "compiled": ("digits", "compiled"),
    "capacities": ("free", ""),
}
_FIXED = (
    "model_name_or_path", "config_name", "tokenizer_name", "model_revision", "optim", "optim_state",
    "dataloader_drop_last", "seed", "data_seed",
)  # fmt: skip
_APPLIED = (
    "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon", "max_grad_norm", "label_smoothing_factor",
    "neftune_noise_alpha", "lr_scheduler_type", "lr_scheduler_kwargs", "eval_delay", "load_best_model_at_end",
    "greater_is_better", "early_stopping_threshold",
)  # fmt: skip
_DIGITS = ("tf32", "full_determinism", "gradient_checkpointing_kwargs", "mps_fallback")
_PLANNED = (
    "max_seq_length", "pad_to_max_length", "learning_rate", "head_learning_rate", "num_train_epochs", "max_steps",
    "per_device_train_batch_size", "gradient_accumulation_steps", "warmup_steps", "warmup_ratio", "freeze", "unfreeze",
    "train_only", "train_sampling_strategy", "eval_strategy", "eval_steps", "metric_for_best_model",
    "early_stopping_patience", "device", "use_cpu", "bf16", "fp16", "torch_compile", "gradient_checkpointing",
    "memory_limit", "logging_steps", "logging_strategy", "save_strategy", "save_steps",
)  # fmt: skip
_FREE = (
    # What the rows are is told by their fingerprint.
    "data", "task_name", "data_dir", "dataset_name", "dataset_config_name", "train_file", "validation_file",
    "test_file", "text_column", "label_column", "do_regression", "fine_labels", "validation_split", "encoding",
    "skip_bad_rows", "max_train_samples", "max_eval_samples", "max_predict_samples", "use_fast_tokenizer",
    "overwrite_cache", "cache_dir", "token", "trust_remote_code", "ignore_mismatched_sizes", "cache_frozen",
    "per_device_eval_batch_size", "eval_on_start", "do_train", "do_eval", "do_predict", "output_dir",
    "overwrite_output_dir", "run_name", "verify", "keep_awake", "force", "torch_empty_cache_steps",
    "logging_first_step", "report_to", "logging_dir", "project", "disable_tqdm", "quiet", "log_level", "save_minutes",
    "save_total_limit", "resume", "resume_from_checkpoint",
)  # fmt: skip
SETTINGS: dict[str, Rule] = {
    **dict.fromkeys(_FIXED, "fixed"),
    **dict.fromkeys(_APPLIED, "applied"),
    **dict.fromkeys(_DIGITS, "digits"),
    **dict.fromkeys(_PLANNED, "planned"),
    **dict.fromkeys(_FREE, "free"),
}
#: With any of these the schedule of the learning rate is another one, at the old place.
_RATES = {
    "learning_rate", "head_learning_rate", "steps", "warmup_steps", "lr_scheduler_type", "lr_scheduler_kwargs",
}  # fmt: skip


@dataclass(frozen=True)
class Changes:
    """What is other than it was, in words."""

    applied: tuple[str, ...]
    digits: tuple[str, ...]
    new_rates: bool
    """Whether the learning rate's schedule is another than before."""


def changes_since(before: Run, recipe: Recipe, plan: Plan, fingerprint: str, arithmetic: dict[str, str]) -> Changes:
    """What changed since a run was begun; refused where the rest would not belong to its beginning."""
    found = [*_choices(before.plan, plan), *_settings(located(before.recipe, before.directory), recipe)]
    fixed = [words for _, rule, words in found if rule == "fixed"]
    if before.fingerprint != fingerprint:
        fixed.insert(0, "the training or validation rows, or the classes, are others")
    applied = tuple(words for _, rule, words in found if rule == "applied")
    if before.trained and applied:
        fixed.append(f"{applied[0]} (and its training is done)")
    if fixed:
        raise PippinError(
            f"this run cannot go on: since it began, {'; '.join(fixed)}. "
            "Put that back, or start anew with --overwrite_output_dir or another --output_dir."
        )
    digits = [words for _, rule, words in found if rule == "digits"]
    digits += [
        f"{name} {before.arithmetic.get(name, '?')} → {arithmetic.get(name, '?')}"
        for name in before.arithmetic.keys() | arithmetic.keys()
        if before.arithmetic.get(name) != arithmetic.get(name)
    ]
    return Changes(applied, tuple(digits), any(name in _RATES for name, _, _ in found))


def _choices(before: Plan, plan: Plan) -> Iterator[tuple[str, Rule, str]]:
    for name, (rule, words) in CHOICES.items():
        old, new = getattr(before, name).value, getattr(plan, name).value
        if old != new:
            yield name, rule, f"{words} {old} → {new}"


def _settings(before: Recipe, recipe: Recipe) -> Iterator[tuple[str, Rule, str]]:
    for name, rule in SETTINGS.items():
        old, new = getattr(before, name), getattr(recipe, name)
        if old != new and not _is_same_path(name, old, new):
            yield name, rule, f"{name} {old} → {new}"


def _is_same_path(name: str, old: Any, new: Any) -> bool:
    from pathlib import Path

    is_path = name in ("model_name_or_path", "config_name", "tokenizer_name") and None not in (old, new)
    return is_path and Path(old).exists() and Path(old).resolve() == Path(new).resolve()
