"""Values out of range and settings that contradict each other, named as the user typed them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pippin.errors import shown
from pippin.recipe.data_fields import TAGGING_TASKS

#: Beyond this whole numbers are not exact any more once they have been a float.
_LARGEST = 2**53

#: field -> (test, what is wanted)
_RANGES: dict[str, tuple[Any, str]] = {
    "learning_rate": (lambda v: 0 < v <= 1, "above 0 and at most 1"),
    "head_learning_rate": (lambda v: 0 < v <= 1, "above 0 and at most 1"),
    "num_train_epochs": (lambda v: v > 0, "above 0"),
    "max_steps": (lambda v: v == -1 or v > 0, "above 0, or -1 for none"),
    "batch_size": (lambda v: v >= 1, "at least 1"),
    "processes": (lambda v: v >= 1, "at least 1"),
    "per_device_train_batch_size": (lambda v: v >= 1, "at least 1"),
    "per_device_eval_batch_size": (lambda v: v >= 1, "at least 1"),
    "gradient_accumulation_steps": (lambda v: v >= 1, "at least 1"),
    "warmup_steps": (lambda v: v >= 0, "at least 0"),
    "warmup_ratio": (lambda v: 0 <= v <= 1, "from 0 to 1"),
    "weight_decay": (lambda v: v >= 0, "at least 0"),
    "adam_beta1": (lambda v: 0 <= v < 1, "from 0 to below 1"),
    "adam_beta2": (lambda v: 0 <= v < 1, "from 0 to below 1"),
    "adam_epsilon": (lambda v: v >= 0, "at least 0"),
    "max_grad_norm": (lambda v: v >= 0, "at least 0"),
    "label_smoothing_factor": (lambda v: 0 <= v < 1, "from 0 to below 1"),
    "neftune_noise_alpha": (lambda v: 0 <= v <= 1e38, "from 0 to 1e38"),
    "freeze": (lambda v: v == "core" or v.isdecimal(), "core, or a number of layers"),
    "lora_rank": (lambda v: 1 <= v <= 4096, "from 1 to 4096"),
    "lora_alpha": (lambda v: v > 0, "above 0"),
    "lora_dropout": (lambda v: 0 <= v < 1, "from 0 to below 1"),
    "max_logits_mb": (lambda v: v >= 1, "at least 1"),
    "unfreeze": (lambda v: v >= 0, "at least 0"),
    "validation_split": (lambda v: 0 <= v <= 0.5, "from 0 to 0.5"),
    "max_seq_length": (lambda v: v >= 4, "at least 4"),
    "max_train_samples": (lambda v: v >= 1, "at least 1"),
    "max_eval_samples": (lambda v: v >= 1, "at least 1"),
    "max_predict_samples": (lambda v: v >= 1, "at least 1"),
    "seed": (lambda v: 0 <= v < 2**32, "from 0 to 4294967295"),
    "data_seed": (lambda v: 0 <= v < 2**32, "from 0 to 4294967295"),
    "eval_steps": (lambda v: v > 0, "above 0"),
    "eval_delay": (lambda v: v >= 0, "at least 0"),
    "logging_steps": (lambda v: v > 0, "above 0"),
    "save_steps": (lambda v: v > 0, "above 0"),
    "save_minutes": (lambda v: v >= 0, "at least 0"),
    "save_total_limit": (lambda v: v >= 1, "at least 1"),
    "early_stopping_patience": (lambda v: v >= 0, "at least 0"),
    "memory_limit": (lambda v: 0 < v <= 1e9, "above 0, and in GB"),
    "torch_empty_cache_steps": (lambda v: v >= 1, "at least 1"),
}


def contradictions(values: dict[str, Any], said: dict[str, str]) -> Iterator[str]:
    """One sentence for each value out of range and each pair of settings that cannot both hold."""
    for name, value in values.items():
        holds, wanted = _RANGES.get(name, (lambda v: True, ""))
        if type(value) is int and abs(value) >= _LARGEST:
            yield f"{said[name]}: {shown(value)} is too large a number."
        elif value is not None and not holds(value):
            yield f"{said[name]}: {_as_typed(value)} must be {wanted}."
    own_rows = str(values.get("task_name")).lower() in TAGGING_TASKS
    for group, why in _EXCLUSIVE:
        if own_rows and "task_name" in group:
            continue
        present = [said[name] for name in group if values.get(name) not in (None, False, 0)]
        if len(present) > 1:
            yield f"{' and '.join(present)} exclude each other: {why}."
    yield from _about_freezing(values, said)
    if values.get("trust_remote_code"):
        yield f"{said['trust_remote_code']} is refused: Pippin never runs code that comes with a model."
    if values.get("use_cpu") and values.get("device") not in (None, "cpu"):
        yield f"{said['use_cpu']} and {said['device']} {values['device']} exclude each other: name one device."
    if values.get("optim_state") == "bf16" and not str(values.get("optim", "adamw")).startswith("adamw"):
        yield f"{said['optim_state']} bf16 is for AdamW alone, and {said['optim']} is {values['optim']}. Leave it out."
    only_evaluates = not values.get("do_train") and (values.get("do_eval") or values.get("do_predict"))
    has_training_rows = any(values.get(name) for name in ("train_file", "data", "task_name", "dataset_name"))
    if values.get("validation_file") and not has_training_rows and not only_evaluates:
        yield f"{said['validation_file']} needs training rows beside it: add --train_file or name a FILE."
    if values.get("data_dir") and not values.get("task_name"):
        yield f"{said['data_dir']} goes with --task_name, which is not given. For your own files: pippin train FOLDER"
    if values.get("fine_labels") and str(values.get("task_name")).lower() != "trec":
        yield f"{said['fine_labels']} belongs to --task_name trec."
    if values.get("dataset_config_name") and not values.get("dataset_name"):
        yield f"{said['dataset_config_name']} belongs to --dataset_name, which is not given."


def remarks(values: dict[str, Any], said: dict[str, str]) -> Iterator[str]:
    """One note for each setting that does nothing as the others stand. Hugging Face's scripts take these too."""
    if values.get("gradient_checkpointing_kwargs") and not values.get("gradient_checkpointing"):
        yield f"{said['gradient_checkpointing_kwargs']} has no effect without --gradient_checkpointing."
    if values.get("cache_frozen") is not None and not _freezing(values):
        yield f"{said['cache_frozen']} has no effect without --freeze, --unfreeze or --train_only."
    if values.get("early_stopping_threshold") and not values.get("early_stopping_patience"):
        yield f"{said['early_stopping_threshold']} has no effect without --early_stopping_patience."
    if values.get("first_rows") and not (values.get("max_train_samples") or values.get("max_eval_samples")):
        yield f"{said['first_rows']} has no effect without --max_train_samples or --max_eval_samples."
    if values.get("train") in ("all", "head"):
        for name in ("lora_rank", "lora_alpha", "lora_dropout", "lora_targets"):
            if values.get(name):
                yield f"{said[name]} has no effect with {said['train']} {values['train']}."
    trackers = values.get("report_to") or ()
    if values.get("logging_dir") and "tensorboard" not in trackers:
        yield f"{said['logging_dir']} has no effect without --report_to tensorboard."
    if "project" in values and not {"wandb", "trackio"} & set(trackers):
        yield f"{said['project']} has no effect without --report_to wandb or --report_to trackio."
    if not _looks_for_the_best(values):
        for name in ("metric_for_best_model", "greater_is_better"):
            if values.get(name) is not None:
                yield (
                    f"{said[name]} has no effect without --load_best_model_at_end, --early_stopping_patience, "
                    "--save_strategy best or --lr_scheduler_type reduce_lr_on_plateau."
                )


def _as_typed(value: Any) -> str:
    """A value of the right kind, as a person would write it.

    >>> [_as_typed(value) for value in (-1.0, ("a", "b"), "core")]
    ['-1', 'a,b', "'core'"]
    """
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else shown(value)


_EXCLUSIVE = [
    (("data", "task_name"), "rows come from one place; for a task's files in a folder use --data_dir"),
    (("data", "dataset_name"), "rows come from one place"),
    (("data", "train_file"), "rows come from one place"),
    (("task_name", "dataset_name"), "rows come from one place"),
    (("task_name", "train_file"), "rows come from one place"),
    (("dataset_name", "train_file"), "rows come from one place"),
    (("bf16", "fp16"), "choose one precision"),
    (("processes", "hosts"), "on each of the hosts one process is started"),
    (("warmup_steps", "warmup_ratio"), "both set the warm-up"),
]


def _about_freezing(values: dict[str, Any], said: dict[str, str]) -> Iterator[str]:
    names = _freezing(values)
    if values.get("train") in ("all", "head") and names:
        yield f"{said['train']} {values['train']} and {said[names[0]]} exclude each other: each says what is trained."
    if values.get("train") == "lora" and set(names) - {"unfreeze"}:
        yield f"{said['train']} lora and {said[names[0]]} exclude each other. For the highest layers: --unfreeze N"
    if len(names) > 1:
        flags = " and ".join(said[name] for name in names)
        yield f"{flags} exclude each other: each says what is trained. Keep one."
    if names and values.get("neftune_noise_alpha"):
        yield (
            f"{said['neftune_noise_alpha']} and {said[names[0]]} exclude each other: the noise is on the embeddings, "
            "and what is frozen runs without any. Keep one."
        )
    if names and (values.get("gradient_checkpointing_kwargs") or {}).get("use_reentrant"):
        yield (
            f"{said['gradient_checkpointing_kwargs']}: with use_reentrant true nothing above a frozen part gets a "
            f"gradient. Leave it out, or {said[names[0]]}."
        )


def _freezing(values: dict[str, Any]) -> list[str]:
    """The settings that say what is trained."""
    return [name for name in ("freeze", "unfreeze", "train_only") if values.get(name) is not None]


def _looks_for_the_best(values: dict[str, Any]) -> bool:
    return bool(
        values.get("load_best_model_at_end")
        or values.get("early_stopping_patience")
        or values.get("save_strategy") == "best"
        or values.get("lr_scheduler_type") == "reduce_lr_on_plateau"
    )
