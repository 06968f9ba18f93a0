"""From the plan's words to the network that does it."""

from __future__ import annotations

from typing import Any

from pippin.machine.drivers.base import Backend
from pippin.models.families import family_of
from pippin.models.network import Network
from pippin.plan.layout import FIRST_TOKENS, PACKED
from pippin.plan.plan import Plan
from pippin.tasks.base import Reads


def network_for(plan: Plan, model: Any, backend: Backend, precision: str, reads: Reads = "first token") -> Network:
    """A model that is called as the plan says, with a head that ``reads`` so much."""
    layout, last_layer = plan.execution.layout.value, plan.execution.last_layer.value
    return make_network(model, backend, precision, layout, last_layer, plan.batches.pad_lengths.value, reads)


def make_network(
    model: Any,
    backend: Backend,
    precision: str,
    layout: str,
    last_layer: str,
    pad_lengths: tuple[int, ...],
    reads: Reads = "first token",
) -> Network:
    """The same where there is no whole plan."""
    family = family_of(model.config)[0] if layout == PACKED or last_layer == FIRST_TOKENS else None
    return Network(model, backend, precision, family, layout == PACKED, pad_lengths, reads == "first token")
