"""A script's model and batches beside the known faults of the device: worked round, or refused before they do harm."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pippin.drop_in.errors import Refusal
from pippin.drop_in.packed_forward import hooks_of
from pippin.machine.backends.base import Backend
from pippin.machine.work import Work
from pippin.models.attention import work_of


def guarded(model: Any, backend: Backend) -> frozenset[int]:
    """Guard a model that will be trained; gives the hooks that this took."""
    before = hooks_of(model.modules())
    backend.guard(model)
    return hooks_of(model.modules()) - before


def safe_attention(model: Any, args: Any, backend: Backend) -> str | None:
    """The attention that is right for a model where the device's fused one would be wrong; None where it is right."""
    config = getattr(model, "config", None)
    return None if config is None else backend.attention(_work(config, args))


@contextmanager
def attending(model: Any, attention: str) -> Iterator[None]:
    """Within, a model attends in this way in place of the fused one."""
    own = getattr(model.config, "_attn_implementation", None)
    if own != "sdpa":
        yield
        return
    model.config._attn_implementation = attention
    try:
        yield
    finally:
        model.config._attn_implementation = own


def refuse_too_many_rows(model: Any, args: Any, backend: Backend, rows: int, length: int) -> None:
    """Stop where gradients over so many rows at once would be wrong."""
    config = getattr(model, "config", None)
    if config is None:
        return
    work = replace(_work(config, args), trains=True, rows=rows, length=length)
    limit = backend.most_rows(work)
    if limit is None or rows <= limit[0]:
        return
    most, why = limit
    advice = (
        f"Set per_device_train_batch_size to {most} or less, and gradient_accumulation_steps to make up for it."
        if most
        else "Shorten the rows, or train on the CPU with use_cpu=True."
    )
    raise Refusal(f"{rows} rows of {length} tokens at once are too many for this device: {why}. {advice}")


def _work(config: Any, args: Any) -> Work:
    return work_of(config, "bf16" if args.bf16 else "fp16" if args.fp16 else "fp32")
