"""Faults to plant: an operator that gives wrong results on the device, or does not write what it should.

They lie over whatever runs in the context, and change nothing of the device itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# torch, and what needs it, is imported within: this package is there before torch.


@contextmanager
def wrong(operator: str, change: Callable[[Any], Any]) -> Iterator[None]:
    """Change what an operator gives: `with wrong("aten::gelu", lambda result: result * 1.01): …`."""
    from emulated_mps.planted import Planted

    with Planted(operator, lambda run, arguments: change(run())):
        yield


@contextmanager
def lost_write(operator: str) -> Iterator[None]:
    """Let an operator that writes into its first argument (`aten::add_.Tensor`) leave it as it is."""
    from emulated_mps.planted import Planted

    with Planted(operator, lambda run, arguments: arguments[0]):
        yield
