"""How rows go through the model: packed or padded, and how much of the last layer is computed."""

from __future__ import annotations

from typing import Any

from pippin.machine.drivers import get_backend
from pippin.models.families import attention_window, family_of
from pippin.plan.frozen import NOTHING
from pippin.plan.plan import Choice
from pippin.recipe import Recipe
from pippin.tasks.base import Reads

PACKED, PADDED = "packed", "padded"
FIRST_TOKENS, ALL_TOKENS = "first tokens", "all tokens"
#: Optimisers that change nothing where the gradient was always zero, as long as there is no weight decay.
_LEAVE_ALONE = ("adamw_torch", "adamw_torch_fused", "sgd", "adagrad", "rmsprop")


def choose_layout(
    recipe: Recipe, config: Any, device: str, precision: str, longest: int, pads_left: bool
) -> Choice[str]:
    """Packed where the model and the device can do it and nothing was asked that needs padding."""
    backend = get_backend(device)
    family, why = family_of(config)
    window = attention_window(config)
    if recipe.pad_to_max_length:
        return Choice(PADDED, "asked for by --pad_to_max_length")
    if recipe.neftune_noise_alpha:
        return Choice(PADDED, "--neftune_noise_alpha scales its noise by a row's padded length")
    if backend.packed_attention is None:
        return Choice(PADDED, "this device has no attention for rows of any length")
    if family is None:
        return Choice(PADDED, why)
    if pads_left:
        return Choice(PADDED, "the tokenizer pads on the left")
    if window and longest > window and backend.packed_attention == "kernel" and precision in ("fp32", "tf32"):
        return Choice(PADDED, f"in {precision} no kernel here sees only {window} tokens to either side")
    how = "by a kernel of the device" if backend.packed_attention == "kernel" else "in groups of like lengths"
    return Choice(PACKED, f"rows lie end to end without padding; attention {how}")


def choose_last_layer(config: Any, pads_left: bool, reads: Reads = "first token") -> Choice[str]:
    """Only what the head reads, where that is known."""
    if reads != "first token":
        return Choice(ALL_TOKENS, f"the head reads {reads}")
    family, why = family_of(config)
    if family is None:
        return Choice(ALL_TOKENS, why)
    if pads_left:
        return Choice(ALL_TOKENS, "the tokenizer pads on the left")
    if family.key is None:
        return Choice(ALL_TOKENS, "its keys and values are made in one piece with its queries")
    return Choice(FIRST_TOKENS, "the head reads no others; the result is the same")


def choose_word_vectors(recipe: Recipe, words: int, frozen: str = NOTHING) -> Choice[int]:
    """How many are trained; 0 stands for all, or for none where they are frozen."""
    if frozen != NOTHING:
        return Choice(0, "none of them: they are frozen")
    if recipe.weight_decay or recipe.optim not in _LEAVE_ALONE:
        return Choice(0, "all of them: weight decay or this optimiser changes even those that never occur")
    return Choice(words, "those that occur in the training rows; the others would not change")
