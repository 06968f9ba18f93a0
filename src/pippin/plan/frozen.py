"""Which part of the model is not trained, and whether what it gives for each row is kept."""

from __future__ import annotations

from typing import Final

from pippin.errors import PippinError
from pippin.models.facts import ModelFacts
from pippin.models.families import Family
from pippin.plan.facts import Rows
from pippin.plan.plan import Choice, States
from pippin.recipe import Recipe
from pippin.tasks.base import Reads
from pippin.text import memory

#: What is frozen: nothing, the whole core, or the embeddings and so many of the lowest layers (a number as a word).
NOTHING: Final = "nothing"
CORE: Final = "core"
#: Where the frozen part's hidden states are kept.
IN_MEMORY: Final = "memory"
ON_DISK: Final = "disk"
NOT_KEPT: Final = "not kept"
#: States up to this size are held in memory; larger ones are mapped from the disk.
_MOST_IN_MEMORY = 256 << 20
_STATE_BYTES = 4


def choose_frozen(recipe: Recipe, layers: int | None) -> Choice[str]:
    """What was asked for, of a model with so many layers."""
    without_dropout = "the frozen part runs without dropout"
    if recipe.train == "lora" and recipe.unfreeze is not None:
        most = _check_layers("--unfreeze", recipe.unfreeze, layers, "which have adapters")
        return Choice(str(most - recipe.unfreeze), f"set by --unfreeze: adapters in {recipe.unfreeze} of {most} layers")
    if recipe.train == "lora":
        return Choice(NOTHING, "beside the adapters nothing is trained")
    if recipe.train == "head" or recipe.train_only == "head" or recipe.freeze == CORE:
        flag = "--freeze core" if recipe.freeze else "--train head" if recipe.train else "--train_only head"
        return Choice(CORE, f"set by {flag}: only the head is trained; {without_dropout}")
    if recipe.freeze is not None:
        _check_layers("--freeze", int(recipe.freeze), layers, "or core")
        return Choice(str(int(recipe.freeze)), f"set by --freeze; {without_dropout}")
    if recipe.unfreeze is not None:
        most = _check_layers("--unfreeze", recipe.unfreeze, layers, "where 0 trains the head alone")
        frozen = str(most - recipe.unfreeze) if recipe.unfreeze else CORE
        return Choice(frozen, f"set by --unfreeze {recipe.unfreeze} of {most} layers; {without_dropout}")
    return Choice(NOTHING, "the whole model is trained")


def frozen_layers(frozen: str) -> int | None:
    """The number of lowest layers behind a choice; None for the whole core."""
    return None if frozen == CORE else int(frozen)


def can_keep_states(family: Family | None, pads_left: bool, reads: Reads) -> bool:
    """Whether it is known where a frozen part ends, and what is read of it."""
    if family is None or pads_left:
        return False
    return family.takes_states if reads == "targets" else not family.causal and reads == "first token"


def choose_states(
    recipe: Recipe, model: ModelFacts, frozen: str, rows: Rows, cache_bytes: int, reads: Reads = "first token"
) -> Choice[States]:
    """Where the hidden states of all rows are kept; ``cache_bytes``: what the cache may hold, 0 where it is off."""
    if frozen == NOTHING:
        return Choice(NOT_KEPT, "nothing is frozen")
    every_step = "the frozen part runs in every step"
    if not can_keep_states(model.family, rows.pads_left, reads):
        read = "the last token" if model.family and model.family.causal else reads
        pads = "the tokenizer pads on the left" if rows.pads_left else f"the head reads {read}"
        return Choice(NOT_KEPT, f"{every_step}: {model.no_family if model.family is None else pads}")
    if not recipe.cache_frozen:
        return Choice(NOT_KEPT, f"{every_step}: --cache_frozen is off")
    one_vector_a_row = reads == "first token" and frozen_layers(frozen) in (None, model.layers)
    vectors = sum(len(lengths) if one_vector_a_row else int(lengths.sum()) for lengths in rows.splits())
    size = vectors * (model.hidden_size or 0) * _STATE_BYTES
    counted = f"one vector per {'row' if one_vector_a_row else 'token'}, {memory(max(size, 2**20))}"
    if size <= _MOST_IN_MEMORY:
        later = "; later runs reuse it from the cache" if cache_bytes else ""
        return Choice(IN_MEMORY, f"each row runs through the frozen part once: {counted}{later}")
    if size > cache_bytes:
        against = f"the cache holds {memory(cache_bytes)}" if cache_bytes else "the cache is off"
        return Choice(NOT_KEPT, f"{every_step}: {counted}, which is too much ({against})")
    return Choice(ON_DISK, f"each row runs through the frozen part once: {counted}, mapped from the cache")


def _check_layers(flag: str, asked: int, layers: int | None, besides: str) -> int:
    if layers is None:
        raise PippinError(f"{flag} {asked}: this model does not say how many layers it has. Use --freeze core.")
    if asked > layers:
        raise PippinError(f"{flag} {asked}: the model has {layers} layers. Name 0 to {layers}, {besides}.")
    return layers
