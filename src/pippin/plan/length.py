"""How many tokens of a text are read."""

from __future__ import annotations

from pippin.plan.facts import Rows
from pippin.plan.plan import Choice
from pippin.recipe import Recipe

#: Hugging Face's, and the least that is chosen: later texts may be longer than those of training.
_USUAL = 128
#: The most that is chosen: some models read whole books, at a price that nobody asked for.
_MOST = 2048


def most_tokens(recipe: Recipe, limit: int | None) -> int:
    """The length at which texts are cut before it is known how long they are. ``limit`` is the model's."""
    asked = recipe.max_seq_length or (_USUAL if recipe.is_classic else _MOST)
    return min(asked, limit or asked)


def enough_tokens(recipe: Recipe, limit: int | None, longest: int) -> int:
    """The length at which texts are cut where the longest row of training and validation has so many tokens."""
    most = most_tokens(recipe, limit)
    return most if recipe.max_seq_length or recipe.is_classic else min(most, max(longest, _USUAL))


def choose_max_length(recipe: Recipe, limit: int | None, rows: Rows) -> Choice[int]:
    longest = max((int(lengths.max()) for lengths in rows.splits() if len(lengths)), default=1)
    chosen, most = enough_tokens(recipe, limit, longest), most_tokens(recipe, limit)
    asked = recipe.max_seq_length
    if asked and chosen < asked:
        return Choice(chosen, f"the model's limit (--max_seq_length is {asked})")
    if not asked and not recipe.is_classic and _USUAL < longest < most:
        return Choice(chosen, "tokens: the longest text has so many")
    if not asked and chosen == limit:
        return Choice(chosen, "tokens, the model's limit; longer texts are truncated")
    return Choice(chosen, "tokens; longer texts are truncated")
