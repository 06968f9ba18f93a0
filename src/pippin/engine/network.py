"""From the plan's words to the network that does it."""

from __future__ import annotations

from typing import Any

from pippin.errors import PippinError
from pippin.machine.drivers.base import Backend
from pippin.models.adapters import AdapterSettings, add_adapters, has_adapters
from pippin.models.families import family_of
from pippin.models.language_network import LanguageNetwork
from pippin.models.network import Network
from pippin.models.widened import widen_where_used
from pippin.plan.frozen import NOTHING
from pippin.plan.layout import FIRST_TOKENS, PACKED
from pippin.plan.plan import Plan
from pippin.plan.trained import ADAPTERS
from pippin.tasks.base import Reads


def network_for(plan: Plan, model: Any, backend: Backend, precision: str, reads: Reads = "first token") -> Network:
    """A model that is called as the plan says, with a head that ``reads`` so much."""
    layout, last_layer = plan.execution.layout.value, plan.execution.last_layer.value
    if reads == "targets":
        family, packs = family_of(model.config)[0], layout == PACKED
        smoothing = plan.rates.label_smoothing_factor
        parts = (model, backend, precision, family, packs, plan.batches.pad_lengths.value)
        most = plan.execution.max_logits_mb * 2**20
        return LanguageNetwork(*parts, reads_one=False, smoothing=smoothing, most_bytes=most)
    return make_network(model, backend, precision, layout, last_layer, plan.batches.pad_lengths.value, reads)


def prepare_weights(plan: Plan, model: Any, trains: bool = True) -> None:
    """Lay adapters over a model that has none yet, and let weights that are kept in half give full precision."""
    execution = plan.execution
    if trains and execution.trained.value != ADAPTERS and has_adapters(model):
        raise PippinError(
            "the model is a base model with adapters, of which only the adapters can be trained: add --train lora. To "
            "train all weights, merge them first: pippin export RUN --to merged"
        )
    if trains and execution.trained.value == ADAPTERS and not has_adapters(model):
        rank, alpha, frozen = execution.lora_rank, execution.lora_alpha, execution.frozen.value
        settings = (2.0 * rank if alpha is None else alpha, execution.lora_dropout, execution.lora_targets)
        add_adapters(model, AdapterSettings(rank, *settings, 0 if frozen == NOTHING else int(frozen)))
    if execution.kept.value != "fp32" and execution.precision.value == "fp32":
        widen_where_used(model)


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
