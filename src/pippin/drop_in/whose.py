"""What of a Trainer and its callbacks is the script's own."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

_NOT_A_SCRIPT = ("transformers", "pippin", "peft")


def overrides(item: Any, method: str) -> bool:
    """Whether a script, or a package that it uses, brings this method itself."""
    if method in vars(item):
        return True
    owner = next((kind for kind in type(item).__mro__ if method in vars(kind)), None)
    return owner is not None and owner.__module__.partition(".")[0] not in _NOT_A_SCRIPT


def listens(callback: Any, event: str) -> bool:
    """Whether a callback does anything at an event, be it transformers' own."""
    return event in vars(callback) or getattr(type(callback), event) is not getattr(TrainerCallback, event, None)
