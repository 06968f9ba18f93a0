"""Pippin: fine-tune Transformer models on the computer at hand.

>>> import pippin                                    # doctest: +SKIP
>>> report = pippin.train("reviews.csv")             # doctest: +SKIP
>>> pippin.load(report.folder).predict(["Great!"])   # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pippin._version import __version__
from pippin.errors import PippinError

if TYPE_CHECKING:
    from pippin.api import load, train

__all__ = ["PippinError", "__version__", "load", "train"]


def __getattr__(name: str) -> Any:
    # Imported when first used: `import pippin` and `pippin --help` must not load torch.
    if name in ("train", "load"):
        from pippin import api

        return getattr(api, name)
    raise AttributeError(f"module 'pippin' has no attribute {name!r}")
