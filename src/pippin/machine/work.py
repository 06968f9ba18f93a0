"""What a device is asked to do, as plain facts: all that it takes to tell what may go wrong there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    precision: str = "fp32"
    causal: bool = False
    """Whether the model's attention is causal: each token sees only those before it."""
    has_window: bool = False
    """Whether tokens see only those near them, in some layer at least."""
    uneven_heads: bool = False
    """Whether attention's values have another width than its queries."""
    heads: int = 1
    trains: bool = False
    rows: int = 1
    """Rows that training would put through the model at once."""
    length: int = 1
    """Tokens of the longest of these rows, with its padding."""
    recomputes: bool = False
    """Whether gradient checkpointing runs parts of the model a second time."""
