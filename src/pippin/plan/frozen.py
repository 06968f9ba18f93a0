"""Which part of the model is not trained, and whether what it gives for each row is kept."""

from __future__ import annotations

from typing import Any

from pippin import cache
from pippin.errors import PippinError
from pippin.machine.check import gigabytes
from pippin.models.families import family_of
from pippin.plan.plan import Choice
from pippin.recipe import Recipe
from pippin.tasks.base import Reads

#: What is frozen: nothing, the whole core, or the embeddings and so many of the lowest layers (a number as a word).
NOTHING, CORE = "nothing", "core"
#: Where the frozen part's states are kept.
IN_MEMORY, ON_DISK, NOT_KEPT = "memory", "disk", "not kept"
#: States up to this size are held in memory; larger ones are mapped from the disk.
_MOST_IN_MEMORY = 256 << 20
_STATE_BYTES = 4


def choose_frozen(recipe: Recipe, config: Any) -> Choice[str]:
    """What was asked for, in the layers that this model has."""
    without_dropout = "it runs without dropout, as in use"
    if recipe.train_only == "head" or recipe.freeze == CORE:
        flag = "--train_only head" if recipe.train_only else "--freeze core"
        return Choice(CORE, f"asked for by {flag}: the head alone is trained; {without_dropout}")
    layers = getattr(config, "num_hidden_layers", None)
    if recipe.freeze is not None:
        _check_layers("--freeze", int(recipe.freeze), layers, "or core")
        return Choice(str(int(recipe.freeze)), f"asked for by --freeze; {without_dropout}")
    if recipe.unfreeze is not None:
        most = _check_layers("--unfreeze", recipe.unfreeze, layers, "where 0 trains the head alone")
        frozen = str(most - recipe.unfreeze) if recipe.unfreeze else CORE
        return Choice(frozen, f"asked for by --unfreeze {recipe.unfreeze} of {most} layers; {without_dropout}")
    return Choice(NOTHING, "the whole model is trained")


def frozen_layers(frozen: str) -> int | None:
    """The number of lowest layers behind a choice; None for the whole core."""
    return None if frozen == CORE else int(frozen)


def keeps_states(config: Any, pads_left: bool, reads: Reads) -> bool:
    """Whether it is known where a frozen part ends, and what is read of it."""
    return family_of(config)[0] is not None and not pads_left and reads == "first token"


def choose_states(
    recipe: Recipe, config: Any, frozen: str, rows: int, tokens: int, pads_left: bool, reads: Reads = "first token"
) -> Choice[str]:
    """Where the states of so many rows and tokens are kept."""
    if frozen == NOTHING:
        return Choice(NOT_KEPT, "nothing is frozen")
    if not keeps_states(config, pads_left, reads):
        why = family_of(config)[1] or ("the tokenizer pads on the left" if pads_left else f"the head reads {reads}")
        return Choice(NOT_KEPT, f"the frozen part runs in every step: {why}")
    one_vector_a_row = frozen_layers(frozen) in (None, config.num_hidden_layers)
    size = (rows if one_vector_a_row else tokens) * config.hidden_size * _STATE_BYTES
    if not recipe.cache_frozen:
        return Choice(NOT_KEPT, "--cache_frozen is off: the frozen part runs in every step")
    counted = f"one vector for each {'row' if one_vector_a_row else 'token'}, {_words(size)}"
    keeps_files = cache.folder() is not None
    if size <= _MOST_IN_MEMORY:
        later = "; later runs find it in the cache" if keeps_files else ""
        return Choice(IN_MEMORY, f"each row goes through the frozen part once: {counted}{later}")
    if not keeps_files or size > cache.LIMIT_BYTES:
        against = f"the cache holds {gigabytes(cache.LIMIT_BYTES)}" if keeps_files else "the cache is switched off"
        return Choice(NOT_KEPT, f"{counted}, are too many: {against}. The frozen part runs in every step")
    return Choice(ON_DISK, f"each row goes through the frozen part once: {counted}, mapped from the cache")


def _check_layers(flag: str, asked: int, layers: int | None, besides: str) -> int:
    if layers is None:
        raise PippinError(f"{flag} {asked}: this model does not say how many layers it has. Use --freeze core.")
    if asked > layers:
        raise PippinError(f"{flag} {asked}: the model has {layers} layers. Name 0 to {layers}, {besides}.")
    return layers


def _words(size: int) -> str:
    return gigabytes(size) if size >= 2**30 else f"{max(1, round(size / 2**20))} MB"
