"""A script's model and batches beside the known faults of the device: worked round, or refused before they do harm."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np

from pippin.drop_in.errors import Refusal
from pippin.drop_in.packed_forward import hooks_of
from pippin.drop_in.swapped import swapped
from pippin.machine.drivers.base import Backend
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


def attending(model: Any, attention: str) -> AbstractContextManager[None]:
    """Within, a model attends in this way in place of the fused one."""
    is_fused = getattr(model.config, "_attn_implementation", None) == "sdpa"
    return swapped(*[(model.config, "_attn_implementation", attention)] if is_fused else [])


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
    raise Refusal(f"a batch of {rows} rows of {length} tokens is too large for this device: {why}. {advice}")


def refuse_nan(predictions: Any, backend: Backend | None) -> None:
    """Stop where a model predicted NaN. Infinity may be meant: some models rule answers out with it."""
    if isinstance(predictions, (tuple, list)):
        for part in predictions:
            refuse_nan(part, backend)
        return
    if not isinstance(predictions, np.ndarray) or predictions.dtype.kind != "f" or not predictions.size:
        return
    rows = np.flatnonzero(np.isnan(predictions).reshape(len(predictions), -1).any(1))
    if len(rows):
        causes = "values beyond the range of fp16; broken weights"
        if backend is None or backend.traits.is_gpu:
            causes = f"a fault of the device: set use_cpu=True, or use another release of torch; {causes}"
        raise Refusal(
            f"{len(rows)} of {len(predictions)} predictions are NaN, the first for row {rows[0]} (counted from 0). "
            f"Likely causes: {causes}."
        )


def _work(config: Any, args: Any) -> Work:
    return work_of(config, "bf16" if args.bf16 else "fp16" if args.fp16 else "fp32")
