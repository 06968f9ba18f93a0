"""Whether the Hugging Face Hub can be asked for anything."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from functools import cache

from pippin.drop_in.swapped import swapped

_OFFLINE_VARIABLES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "HF_EVALUATE_OFFLINE")
_SECONDS = 3


@cache
def why_no_hub() -> str | None:
    """Why the Hub cannot be asked, in words; None where it answers. Asked once: libraries would try for minutes."""
    for name in _OFFLINE_VARIABLES:
        value = os.environ.get(name, "")
        if value.upper() in ("1", "ON", "YES", "TRUE"):
            return f"{name}={value}"
    try:
        from huggingface_hub import constants
        from huggingface_hub.utils import get_session

        get_session().head(constants.ENDPOINT, timeout=_SECONDS)
    except Exception:  # each kind means the same
        return "the Hub cannot be reached"
    return None


def declared_offline() -> AbstractContextManager[None]:
    """While it lasts, datasets and the Hub's client look into their caches and nowhere else."""
    from datasets import config
    from huggingface_hub import constants

    places = [(config, "HF_HUB_OFFLINE"), (config, "HF_DATASETS_OFFLINE"), (constants, "HF_HUB_OFFLINE")]
    return swapped(*((place, name, True) for place, name in places))
