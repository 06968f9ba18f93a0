"""Settings that cannot work on the device at hand, refused before anything is loaded."""

from __future__ import annotations

import os
from typing import Any

from pippin.drop_in.notices import say
from pippin.machine.drivers import all_backends
from pippin.machine.drivers.base import Backend

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
        say(f"use_mps_device: there is no Apple GPU here, or it is not to be used; the device is {backend.kind}.")
    mistakes = _refused_by_apple(args) if is_apple else []
    if several and is_apple:
        problem = backend.traits.several_processes_problem
        mistakes.append(f"this was started as {processes} processes (WORLD_SIZE), but {problem}.")
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
                f"{name}: it spreads a model over several processes, and the Apple GPU takes no part in that. "
                f"Leave it out; where memory is short use gradient_checkpointing or optim=adafactor."
            )
    if getattr(args, "use_liger_kernel", False):
        mistakes.append("use_liger_kernel=True: Liger's kernels are Triton code, not for the Apple GPU. Leave it out.")
    optimiser = str(getattr(args.optim, "value", args.optim))
    if optimiser in _BITSANDBYTES or any(part in optimiser for part in ("8bit", "4bit", "bnb", "paged")):
        mistakes.append(
            f"optim={optimiser}: this optimiser of bitsandbytes or torchao is CUDA or Triton code, not for the Apple "
            "GPU. Use optim=adamw_torch, or optim=adafactor where memory is short."
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
