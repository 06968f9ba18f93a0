"""How rows go through the model: packed or padded, in which order, and how much of the last layer is computed."""

from __future__ import annotations

from typing import Final

import numpy as np

from pippin.data.batches import WINDOW, padded_lengths, plan_lengths, training_order
from pippin.machine.traits import DeviceTraits
from pippin.models.facts import ModelFacts
from pippin.plan.facts import Rows
from pippin.plan.frozen import NOTHING
from pippin.plan.plan import Batching, Choice, LastLayer, Layout
from pippin.recipe import Recipe
from pippin.tasks.base import Reads

PACKED: Final = "packed"
PADDED: Final = "padded"
FIRST_TOKENS: Final = "first tokens"
ALL_TOKENS: Final = "all tokens"
#: Optimisers that change nothing where the gradient was always zero, as long as there is no weight decay.
_LEAVE_ALONE = ("adamw_torch", "adamw_torch_fused", "sgd", "adagrad", "rmsprop")


def choose_layout(
    recipe: Recipe, model: ModelFacts, traits: DeviceTraits, precision: str, longest: int, pads_left: bool
) -> Choice[Layout]:
    """Packed where the model and the device can do it and nothing was asked that needs padding."""
    packs = traits.packed_attention
    if recipe.pad_to_max_length:
        return Choice(PADDED, "set by --pad_to_max_length")
    if recipe.neftune_noise_alpha:
        return Choice(PADDED, "--neftune_noise_alpha scales its noise by a row's padded length")
    if packs is None:
        return Choice(PADDED, "this device has no variable-length attention")
    if model.family is None:
        return Choice(PADDED, model.no_family)
    if pads_left and not model.family.rotary:
        return Choice(PADDED, "the tokenizer pads on the left")
    if model.caps_scores and packs == "kernel":
        return Choice(PADDED, "no kernel here caps attention's scores, as this model does")
    if model.window and longest > model.window and packs == "kernel" and precision in ("fp32", "tf32"):
        return Choice(PADDED, f"no kernel has a window of {model.window} tokens in {precision}")
    how = "uses the device's variable-length kernel" if packs == "kernel" else "runs on rows of one length at a time"
    return Choice(PACKED, f"rows are packed end to end without padding; attention {how}")


def choose_batching(recipe: Recipe, traits: DeviceTraits, layout: str) -> Choice[Batching]:
    """The order of rows."""
    asked = recipe.train_sampling_strategy
    if asked is not None and asked != "group_by_length":
        return Choice(asked, "set by --train_sampling_strategy")
    if asked is None and layout == PACKED and traits.packed_attention == "kernel":
        return Choice("random", "nothing is padded, so rows need not be grouped by length")
    return Choice("windows", f"shuffled, then sorted by length within every {WINDOW} batches to reduce padding")


def choose_pad_lengths(
    recipe: Recipe, traits: DeviceTraits, rows: Rows, batch: int, max_length: int, layout: str, batching: str
) -> Choice[tuple[int, ...]]:
    """Few lengths where the device needs few shapes."""
    if recipe.pad_to_max_length:
        return Choice((max_length,), "set by --pad_to_max_length")
    if layout == PACKED:
        return Choice((), "nothing is padded")
    if traits.shape_limit is None:
        return Choice((), "each batch to its longest row: this device takes any shape")
    lengths = np.array([], dtype=np.int64) if rows.lengths is None else rows.lengths
    order = training_order(lengths, batch, batching, recipe.order_seed, epoch=0)
    trained = [np.full(len(chosen), lengths[chosen].max()) for chosen in order]
    work = np.concatenate([lengths[:0], *trained, *rows.evaluated])
    planned = plan_lengths(work, traits.shape_limit)
    waste = 1 - sum(each.sum() for each in (lengths, *rows.evaluated)) / padded_lengths(work, planned).sum()
    return Choice(planned, f"few shapes, which suits this device; {waste:.0%} of the work is padding")


def choose_last_layer(model: ModelFacts, pads_left: bool, reads: Reads = "first token") -> Choice[LastLayer]:
    """Only what the head reads, where that is known."""
    if reads == "targets":
        return Choice(ALL_TOKENS, "the head reads those that are learnt")
    if reads != "first token":
        return Choice(ALL_TOKENS, f"the head reads {reads}")
    if model.family is None:
        return Choice(ALL_TOKENS, model.no_family)
    if model.family.causal:
        return Choice(ALL_TOKENS, "the head reads the last token")
    if pads_left:
        return Choice(ALL_TOKENS, "the tokenizer pads on the left")
    if model.family.key is None:
        return Choice(ALL_TOKENS, "the model computes queries, keys and values together")
    return Choice(FIRST_TOKENS, "the head reads only the first token; same results")


def choose_word_vectors(
    recipe: Recipe, words: int, frozen: str = NOTHING, reads: Reads = "first token", trained: str = ""
) -> Choice[int]:
    """How many are trained; 0 stands for all, or for none where they are frozen."""
    if frozen != NOTHING or trained == "adapters":
        return Choice(0, "none: they are frozen")
    if reads == "targets":
        return Choice(0, "all: each is a word that the model may say")
    if recipe.shard:
        return Choice(0, "all: --shard spreads them over the processes")
    if recipe.weight_decay or recipe.optim not in _LEAVE_ALONE:
        return Choice(0, "all: weight decay or this optimiser also changes words that never occur")
    return Choice(words, "the words in the training rows; the others wouldn't change")
