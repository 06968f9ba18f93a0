"""How the weights of a model lie on the disk, told from their files' headers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pippin.models.facts import Precision
from pippin.models.safety import header_of

_KINDS: dict[str, Precision] = {"BF16": "bf16", "F16": "fp16"}


def stored_precision(files: Iterable[Path]) -> Precision:
    """That of most weights: a configuration may say another."""
    count: Counter[str] = Counter()
    for file in files:
        for shape, kind in (header_of(file) or {}).values():
            count[kind] += math.prod(shape)
    return _KINDS.get(max(count, key=count.__getitem__, default=""), "fp32")
