"""What is told of a device's memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Relief:
    """Unused memory was given back before it got scarce."""

    before: int
    """Bytes held."""
    after: int
