"""What former names mean today: their values go into today's fields before transformers looks at anything.

Where the installed transformers has a name itself, what becomes of it is left to transformers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from transformers.training_args import OptimizerNames
from transformers.training_args import TrainingArguments as TheirArguments

from pippin.drop_in.fields import REMOVED

#: Names of REMOVED that the installed transformers lacks.
MISSING = tuple(name for name in REMOVED if name not in TheirArguments.__dataclass_fields__)

#: Another name for the same value.
_RENAMED = {
    "evaluation_strategy": "eval_strategy", "per_gpu_train_batch_size": "per_device_train_batch_size",
    "per_gpu_eval_batch_size": "per_device_eval_batch_size", "torchdynamo": "torch_compile_backend",
    "xpu_backend": "ddp_backend", "push_to_hub_token": "hub_token",
}  # fmt: skip
#: A switch that today is one value of a field.
_SWITCHES = {
    "no_cuda": ("use_cpu", True),
    "group_by_length": ("train_sampling_strategy", "group_by_length"),
    "adafactor": ("optim", "adafactor"),
}
#: Fields that became an entry of a dict.
_ENTRIES = {
    "dispatch_batches": ("accelerator_config", "dispatch_batches"),
    "split_batches": ("accelerator_config", "split_batches"),
    "fsdp_min_num_params": ("fsdp_config", "min_num_params"),
    "fsdp_transformer_layer_cls_to_wrap": ("fsdp_config", "transformer_layer_cls_to_wrap"),
}
#: Names whose value a field of today holds once it was handed over.
HANDED_OVER = {
    *_RENAMED, *_SWITCHES, *_ENTRIES, "warmup_ratio", "push_to_hub_model_id", "push_to_hub_organization",
    "include_tokens_per_second", "include_inputs_for_metrics", "tpu_metrics_debug",
}  # fmt: skip
_OPTIMISERS = {"adamw_hf": "adamw_torch", "adamw_apex_fused": "adamw_torch_fused"}
#: warmup_steps=1.0 would be a single step.
_ALL_STEPS = 1 - 1e-9


def read_unasked(args: Any, name: str) -> Any:
    """What a former name reads as where nobody gave it."""
    if name == "evaluation_strategy":
        return plain(args.eval_strategy)
    if name == "logging_dir":
        return os.environ.get("TENSORBOARD_LOGGING_DIR") or os.path.join(args.output_dir, "runs")
    if name == "warmup_ratio" and 0 < args.warmup_steps < 1:
        return 1.0 if args.warmup_steps == _ALL_STEPS else args.warmup_steps
    if name in _SWITCHES:
        today, value = _SWITCHES[name]
        return plain(getattr(args, today)) == value
    return REMOVED[name].default


def given_value(args: Any, name: str) -> Any:
    """What a former name was given; None where nothing was, or what means nothing."""
    value = vars(args).get(name) if name in vars(args).get("_former_names", ()) else None
    is_hidden = name.endswith("_token") and value == f"<{name.upper()}>"  # out of a dict that hides tokens
    return None if is_hidden or value == REMOVED[name].default else value


def refused_names(args: Any) -> list[str]:
    """Former names with values that mean nothing any longer."""
    mistakes = []
    if given_value(args, "save_safetensors") is False:
        mistakes.append(
            "save_safetensors=False: models are always saved as safetensors, never pickled. Leave it out; for another "
            "format use torch.save(model.state_dict(), …)."
        )
    for name in ("fp16_backend", "half_precision_backend"):
        if given_value(args, name) == "apex":
            mistakes.append(f"{name}=apex: NVIDIA's apex is gone; torch does the same. Use fp16=True alone.")
    if (past := given_value(args, "past_index")) is not None and past >= 0:
        mistakes.append(
            f"past_index={past}: transformers no longer passes states from batch to batch. Leave it out, or install "
            "'transformers<5'."
        )
    if sharded := given_value(args, "sharded_ddp"):
        mistakes.append(f"sharded_ddp={sharded!r}: fairscale is gone. Use fsdp, which does the same.")
    if (parts := given_value(args, "tp_size")) is not None and parts > 1:
        mistakes.append(
            f"tp_size={parts}: models are now split when they are loaded. Leave it out, and use "
            "from_pretrained(…, tp_plan='auto')."
        )
    return mistakes


def translated(args: Any) -> list[str]:
    """Give today's fields what former names were given; returns what contradicts."""
    mistakes: list[str | None] = []
    for name, today in _RENAMED.items():
        if (value := given_value(args, name)) is not None:
            mistakes.append(_hand_over(args, name, value, today))
    for name, (today, value) in _SWITCHES.items():
        if given_value(args, name):
            mistakes.append(_hand_over(args, name, value, today))
    for name, (today, key) in _ENTRIES.items():
        if (value := given_value(args, name)) is not None:
            mistakes.append(_hand_over_entry(args, name, value, today, key))
    mistakes += [_warmup(args), _repository(args)]
    if given_value(args, "include_tokens_per_second") and args.include_num_input_tokens_seen in (False, "no"):
        args.include_num_input_tokens_seen = "all"
    if given_value(args, "include_inputs_for_metrics") and "inputs" not in args.include_for_metrics:
        args.include_for_metrics = [*args.include_for_metrics, "inputs"]
    if given_value(args, "tpu_metrics_debug") and isinstance(args.debug or "", str):
        args.debug = f"{args.debug or ''} tpu_metrics_debug"
    if args.report_to is None and TheirArguments.__dataclass_fields__["report_to"].default is not None:
        args.report_to = "none"  # transformers 5 takes None for the name of a tracker
    optimiser = plain(args.optim)
    if optimiser not in {known.value for known in OptimizerNames}:
        args.optim = _OPTIMISERS.get(optimiser, args.optim)
    return [mistake for mistake in mistakes if mistake]


def _hand_over(args: Any, name: str, value: Any, today: str) -> str | None:
    now, usual = getattr(args, today), type(args).__dataclass_fields__[today].default
    hidden = f"<{today.upper()}>" if today.endswith("_token") else None
    if plain(now) not in (plain(value), plain(usual), hidden):
        return _contradiction(name, today, now, plain(value), today)
    setattr(args, today, value)
    return None


def _hand_over_entry(args: Any, name: str, value: Any, today: str, key: str) -> str | None:
    config = getattr(args, today) or {}
    if isinstance(config, str):
        return f"{name}={value!r}: {today} comes from {config!r}. Leave {name} out, and write {key} there."
    if not isinstance(config, dict):  # accelerate's own class, of arguments that are copied
        setattr(config, key, value)
        return None
    now = config.get(key)
    if now not in (None, value, [value]):
        return _contradiction(name, f"{today}[{key!r}]", now, value, today)
    policy = {"auto_wrap_policy": "SIZE_BASED_WRAP"} if key == "min_num_params" else {}
    setattr(args, today, {**policy, **config, key: value if now is None else now})
    return None


def _warmup(args: Any) -> str | None:
    ratio = given_value(args, "warmup_ratio")
    if ratio is None:
        return None
    if not 0 <= ratio <= 1:
        return f"warmup_ratio={ratio}: it is a share of all steps, from 0 to 1. For a number of steps: warmup_steps"
    share = min(ratio, _ALL_STEPS)
    if 0 < args.warmup_steps < 1 and args.warmup_steps != share:
        return _contradiction("warmup_ratio", "warmup_steps", args.warmup_steps, ratio, "warmup_steps")
    args.warmup_steps = args.warmup_steps or share
    return None


def _repository(args: Any) -> str | None:
    owner, name = given_value(args, "push_to_hub_organization"), given_value(args, "push_to_hub_model_id")
    if not owner and not name:
        return None
    name = name or Path(args.output_dir or "trainer_output").name
    given = "push_to_hub_organization" if owner else "push_to_hub_model_id"
    return _hand_over(args, given, f"{owner}/{name}" if owner and "/" not in name else name, "hub_model_id")


def _contradiction(name: str, place: str, now: Any, value: Any, today: str) -> str:
    return (
        f"{name} and {place} contradict each other ({value!r} and {plain(now)!r}): {name} is a former name of it. "
        f"Give {today} alone."
    )


def plain(value: Any) -> Any:
    return getattr(value, "value", value)
