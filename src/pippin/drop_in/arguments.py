"""Hugging Face's TrainingArguments, with the names that newer releases of transformers dropped."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from transformers import HfArgumentParser
from transformers.training_args import TrainingArguments as TheirArguments
from transformers.training_args_seq2seq import Seq2SeqTrainingArguments as TheirSeq2SeqArguments
from transformers.utils import is_accelerate_available

from pippin.drop_in.errors import MissingPackage, RefusedSettings
from pippin.drop_in.former_names import TakesFormerNames, own_names
from pippin.drop_in.notices import say
from pippin.drop_in.parsing import teach
from pippin.drop_in.translation import refused_names, translated
from pippin.machine.drivers import all_backends
from pippin.machine.drivers.base import Backend

teach(HfArgumentParser)


class _Arguments(TakesFormerNames):
    """Turns former names into today's, and refuses what the device at hand cannot do."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "__repr__" not in cls.__dict__:  # else @dataclass writes one that shows tokens
            cls.__repr__ = TheirArguments.__repr__  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        if not is_accelerate_available():
            raise MissingPackage(
                "Hugging Face's Trainer needs accelerate, which is missing or too old. "
                "Type: pip install 'pippin[trainer]'"
            )
        if type(self).__module__ == "__main__":  # a library knows what it declares
            for name in own_names(type(self)):
                say(f"{name} is defined by {type(self).__name__} itself: only the script decides what it does.")
        mistakes = [*refused_names(self), *translated(self), *refused_by_device(self)]
        if mistakes:
            raise RefusedSettings(mistakes)
        super().__post_init__()  # type: ignore[misc]


@dataclass
class TrainingArguments(_Arguments, TheirArguments):
    """transformers' TrainingArguments for Pippin's Trainer; docs/trainer_arguments.md has every field.

    A checkpoint's training_args.bin can be read where Pippin is installed.
    """


@dataclass
class Seq2SeqTrainingArguments(TrainingArguments, TheirSeq2SeqArguments):
    """The same for Seq2SeqTrainer."""


#: Optimisers of bitsandbytes and torchao whose names do not say so.
_BITSANDBYTES = {"ademamix", "lion_32bit"}


def refused_by_device(args: Any) -> list[str]:
    """What cannot work on the device that transformers will take."""
    processes = os.environ.get("WORLD_SIZE", "1")  # set by torchrun and its like
    several = processes.isdigit() and int(processes) > 1
    backend = _backend_at_hand(args, several)
    if backend is None:
        return []
    is_apple = backend.traits.mac is not None
    if getattr(args, "use_mps_device", False) and not is_apple:
        say(f"use_mps_device: there is no Apple GPU, or it is switched off; the device is {backend.kind}.")
    mistakes = _refused_by_apple(args) if is_apple else []
    if several and is_apple:
        mistakes.append(
            f"this was started as {processes} processes (WORLD_SIZE), but transformers' Trainer cannot share gradients "
            "of the Apple GPU: gloo and nccl do not support its tensors. Start the script without torchrun, train on "
            "the CPU with --use_cpu, or use `pippin train`, which sends them through CPU memory."
        )
    for precision in ("bf16", "fp16"):
        if getattr(args, precision) and (lacks := backend.precision_problems().get(precision)):
            mistakes.append(f"{precision}=True: {lacks}.")
    if args.tf32 and not backend.traits.tf32:
        mistakes.append("tf32=True: only NVIDIA GPUs have TF32. Leave it out.")
    return mistakes


def _refused_by_apple(args: Any) -> list[str]:
    mistakes = []
    for name in ("deepspeed", "fsdp", "parallelism_config"):
        if getattr(args, name, None):
            mistakes.append(
                f"{name}: it spreads a model over several processes, which the Apple GPU does not support. "
                f"Leave it out; to save memory use gradient_checkpointing or optim=adafactor."
            )
    if getattr(args, "use_liger_kernel", False):
        mistakes.append("use_liger_kernel=True: Liger's Triton kernels do not run on the Apple GPU. Leave it out.")
    optimiser = str(getattr(args.optim, "value", args.optim))
    if optimiser in _BITSANDBYTES or any(part in optimiser for part in ("8bit", "4bit", "bnb", "paged")):
        mistakes.append(
            f"optim={optimiser}: this optimiser of bitsandbytes or torchao does not run on the Apple GPU. "
            "Use optim=adamw_torch, or optim=adafactor to save memory."
        )
    return mistakes


def _backend_at_hand(args: Any, several: bool) -> Backend | None:
    """The device that transformers will take; None: nothing that Pippin needs to look at, or knows."""
    import torch

    apple, *others, cpu = all_backends()
    if args.use_cpu or os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes", "on", "y", "t"):
        return cpu
    if apple.devices():
        return apple
    if several:  # each process has a device of its own, and this is too early to touch one
        return None
    if found := next((backend for backend in others if backend.devices()), None):
        return found
    is_known = not hasattr(torch, "accelerator") or not torch.accelerator.is_available()
    return cpu if is_known else None
