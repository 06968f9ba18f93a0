"""A decoder's classification head for the last token of each packed row: it reads nothing else."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from pippin.models.registry import AttentionLayout


def read_last_tokens(model: Any, layout: AttentionLayout) -> list[RemovableHandle]:
    """Make a model's logits 1 × rows × outputs for a packed batch, until what comes back is removed.

    The model picks the answer at one place of the only line that it sees; every place holds those of all rows.
    """

    def answer_rows(_: Any, __: Any, found: torch.Tensor) -> torch.Tensor:
        packing = layout.packing
        if packing is None or packing.lasts is None:
            return found
        return found.index_select(1, packing.lasts)[:, None].expand(-1, found.shape[1], -1, -1)

    return [model.score.register_forward_hook(answer_rows)]
