"""Hugging Face's TrainingArguments, with the names that newer releases of transformers dropped.

A former name becomes today's before transformers looks at anything, and can still be read under its own. Where the
installed transformers has a name itself, what becomes of it is left to transformers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import Any

from transformers.training_args import OptimizerNames
from transformers.training_args import TrainingArguments as TheirArguments
from transformers.training_args_seq2seq import Seq2SeqTrainingArguments as TheirSeq2SeqArguments
from transformers.utils import is_accelerate_available

from pippin.drop_in.fields import REMOVED
from pippin.drop_in.refusals import refused_by_device
from pippin.errors import Mistakes, PippinError

#: Names of REMOVED that the installed transformers lacks.
MISSING = tuple(name for name in REMOVED if name not in TheirArguments.__dataclass_fields__)

#: Another name for the same value.
_RENAMED = {
    "evaluation_strategy": "eval_strategy",
    "per_gpu_train_batch_size": "per_device_train_batch_size",
    "per_gpu_eval_batch_size": "per_device_eval_batch_size",
    "torchdynamo": "torch_compile_backend",
    "xpu_backend": "ddp_backend",
    "push_to_hub_token": "hub_token",
}
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
#: Fields that became a variable which transformers reads later.
_VARIABLES = {"logging_dir": "TENSORBOARD_LOGGING_DIR", "ray_scope": "RAY_SCOPE"}
_OPTIMISERS = {"adamw_hf": "adamw_torch", "adamw_apex_fused": "adamw_torch_fused"}

#: What was set here, so that a later TrainingArguments may set it again but what the user set stays.
_set_here: dict[str, str] = {}


class Echo(str):
    """Today's value under a former name: to be read, and not taken for one that was given."""


class _FormerNames:
    """Turns former names into today's, and refuses what the device at hand cannot do."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "__repr__" not in cls.__dict__:  # else @dataclass writes one that shows tokens
            cls.__repr__ = TheirArguments.__repr__  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        if not is_accelerate_available():
            raise PippinError(
                "Hugging Face's Trainer needs accelerate, which is not installed here, or too old. "
                "Type: pip install 'pippin[trainer]'"
            )
        mistakes = [*_refused_names(self), *_translated(self)]
        mistakes += refused_by_device(self)
        if mistakes:
            raise Mistakes(mistakes)
        super().__post_init__()  # type: ignore[misc]
        _echo(self)


def _with_former_names(theirs: type) -> Any:
    """A dataclass like theirs, with the fields that it lacks after its own."""
    fields: list[tuple[str, Any, Any]] = [
        (name, REMOVED[name].kind, field(default=REMOVED[name].default, metadata={"help": _help(name)}))
        for name in MISSING
    ]
    bases = (_FormerNames, theirs)
    return make_dataclass(f"_{theirs.__name__}", fields, bases=bases, namespace={"__module__": __name__})


def _help(name: str) -> str:
    treatment = REMOVED[name].treatment
    refused = f" Refused {treatment.when}." if treatment.when else ""
    return f"Gone since transformers {REMOVED[name].gone}. {treatment.words}{refused}".replace("%", "%%")


_Base: Any = _with_former_names(TheirArguments)


@dataclass
class TrainingArguments(_Base):
    """transformers' TrainingArguments for Pippin's Trainer; docs/trainer_arguments.md has every field.

    A checkpoint's training_args.bin can be read where Pippin is installed.
    """


@dataclass
class Seq2SeqTrainingArguments(TrainingArguments, TheirSeq2SeqArguments):
    """The same for Seq2SeqTrainer."""


def _given(args: Any, name: str) -> Any:
    """What a former name was given; None where nothing was, or where the installed transformers has the name."""
    value = getattr(args, name) if name in MISSING else None
    return None if isinstance(value, Echo) or value == REMOVED[name].default else value


def _refused_names(args: Any) -> list[str]:
    """Former names with values that mean nothing any longer."""
    mistakes = []
    if _given(args, "save_safetensors") is False:
        mistakes.append(
            "save_safetensors=False: models are always saved as safetensors, never pickled. Leave it out; for another "
            "format save the model yourself with torch.save(model.state_dict(), …)."
        )
    for name in ("fp16_backend", "half_precision_backend"):
        if _given(args, name) == "apex":
            mistakes.append(f"{name}=apex: NVIDIA's apex is gone, torch does the same. Use fp16=True alone.")
    if (past := _given(args, "past_index")) is not None and past >= 0:
        mistakes.append(
            f"past_index={past}: transformers no longer hands states on from batch to batch. Leave it out, or install "
            "'transformers<5'."
        )
    if sharded := _given(args, "sharded_ddp"):
        mistakes.append(f"sharded_ddp={sharded!r}: fairscale is gone. Use fsdp, which does the same.")
    if (parts := _given(args, "tp_size")) is not None and parts > 1:
        mistakes.append(
            f"tp_size={parts}: a model is now split when it is loaded. Leave it out, and load the model with "
            "from_pretrained(…, tp_plan='auto')."
        )
    return mistakes


def _translated(args: Any) -> list[str]:
    """Give today's fields what former names were given; returns what contradicts."""
    mistakes: list[str | None] = []
    for name, today in _RENAMED.items():
        if (value := _given(args, name)) is not None:
            mistakes.append(_hand_over(args, name, value, today))
    for name, (today, value) in _SWITCHES.items():
        if _given(args, name):
            mistakes.append(_hand_over(args, name, value, today))
    for name, (today, key) in _ENTRIES.items():
        if (value := _given(args, name)) is not None:
            mistakes.append(_hand_over_entry(args, name, value, today, key))
    for name, variable in _VARIABLES.items():
        if (value := _given(args, name)) is not None:
            _hand_over_variable(variable, os.path.expanduser(value))
    mistakes += [_warmup(args), _repository(args)]
    if _given(args, "include_tokens_per_second") and args.include_num_input_tokens_seen in (False, "no"):
        args.include_num_input_tokens_seen = "all"
    if _given(args, "include_inputs_for_metrics") and "inputs" not in args.include_for_metrics:
        args.include_for_metrics = [*args.include_for_metrics, "inputs"]
    if _given(args, "tpu_metrics_debug") and isinstance(args.debug or "", str):
        args.debug = f"{args.debug or ''} tpu_metrics_debug"
    if args.report_to is None and TheirArguments.__dataclass_fields__["report_to"].default is not None:
        args.report_to = "none"  # transformers 5 takes None for the name of a tracker
    optimiser = _plain(args.optim)
    if optimiser not in {known.value for known in OptimizerNames}:
        args.optim = _OPTIMISERS.get(optimiser, args.optim)
    return [mistake for mistake in mistakes if mistake]


def _hand_over(args: Any, name: str, value: Any, today: str) -> str | None:
    now = getattr(args, today)
    if _plain(now) not in (_plain(value), _plain(type(args).__dataclass_fields__[today].default)):
        return _contradiction(name, today, now, _plain(value), today)
    setattr(args, today, value)
    return None


def _hand_over_entry(args: Any, name: str, value: Any, today: str, key: str) -> str | None:
    config = getattr(args, today) or {}
    if isinstance(config, str):
        return f"{name}={value!r}: {today} comes from {config!r}. Leave {name} out, and write {key} there."
    if not isinstance(config, dict):  # accelerate's own class, of arguments that are copied
        setattr(config, key, value)
        return None
    now = config.get(key, value)
    if now not in (value, [value]):
        return _contradiction(name, f"{today}[{key!r}]", now, value, today)
    policy = {"auto_wrap_policy": "SIZE_BASED_WRAP"} if key == "min_num_params" else {}
    setattr(args, today, {**policy, **config, key: now})
    return None


def _hand_over_variable(variable: str, value: str) -> None:
    if os.environ.get(variable) in (None, _set_here.get(variable)):
        os.environ[variable] = _set_here[variable] = value


def _warmup(args: Any) -> str | None:
    ratio = _given(args, "warmup_ratio")
    if ratio is None:
        return None
    if not 0 <= ratio <= 1:
        return f"warmup_ratio={ratio}: it is a share of all steps, from 0 to 1. For a number of steps use warmup_steps."
    share = min(ratio, 1 - 1e-9)  # warmup_steps=1.0 would be a single step
    if 0 < args.warmup_steps < 1 and args.warmup_steps != share:
        return _contradiction("warmup_ratio", "warmup_steps", args.warmup_steps, ratio, "warmup_steps")
    args.warmup_steps = args.warmup_steps or share
    return None


def _repository(args: Any) -> str | None:
    owner, name = _given(args, "push_to_hub_organization"), _given(args, "push_to_hub_model_id")
    if not owner and not name:
        return None
    name = name or Path(args.output_dir or "trainer_output").name
    given = "push_to_hub_organization" if owner else "push_to_hub_model_id"
    return _hand_over(args, given, f"{owner}/{name}" if owner and "/" not in name else name, "hub_model_id")


def _contradiction(name: str, place: str, now: Any, value: Any, today: str) -> str:
    return (
        f"{name} and {place} contradict each other ({value!r} and {_plain(now)!r}): {name} is a former name of it. "
        f"Give {today} alone."
    )


def _plain(value: Any) -> Any:
    """The word of an enum."""
    return getattr(value, "value", value)


def _echo(args: Any) -> None:
    """Scripts read these former names whether or not they were given."""
    if "evaluation_strategy" in MISSING:
        args.evaluation_strategy = Echo(_plain(args.eval_strategy))
    if "logging_dir" in MISSING and _given(args, "logging_dir") is None:
        folder = os.environ.get(_VARIABLES["logging_dir"]) or os.path.join(args.output_dir, "runs")
        args.logging_dir = Echo(folder)
