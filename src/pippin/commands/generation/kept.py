"""What a model has read of the last chat, so that it need not read it again."""

from __future__ import annotations

import inspect
from typing import Any


class Kept:
    """Tokens, and transformers' cache with their keys and values."""

    def __init__(self, model: Any):
        self._model = model
        self._tokens: list[int] = []
        self._cache: Any = None
        takes = inspect.signature(model.forward).parameters
        by_default = getattr(model, "_supports_default_dynamic_cache", lambda: True)
        self._is_taken = "past_key_values" in takes and by_default()

    def hand_over(self, prompt: list[int]) -> dict[str, Any]:
        """A cache with as much of the prompt as was read, for generate; nothing where the model has one of its own.

        It is nobody's until it is kept again: what fails may leave half a token in it.
        """
        tokens, cache = self._tokens, self._cache
        self.forget()
        if not self._is_taken:
            return {}
        shared = next(
            (place for place, (one, other) in enumerate(zip(tokens, prompt, strict=False)) if one != other),
            min(len(tokens), len(prompt)),
        )
        shared = min(shared, len(prompt) - 1)  # something must be read
        if cache is None or shared < 1 or not _can_go_back(cache, len(tokens) - shared):
            from transformers import DynamicCache

            cache = DynamicCache(config=self._model.config)
        elif shared < len(tokens):
            cache.crop(shared - len(tokens))
        return {"past_key_values": cache, "cache_implementation": None}

    def keep(self, tokens: list[int], cache: Any) -> None:
        """The last of the tokens was given, and mostly not read."""
        if cache is not None:
            self._tokens, self._cache = tokens[: cache.get_seq_length()], cache

    def forget(self) -> None:
        self._tokens, self._cache = [], None


def _can_go_back(cache: Any, tokens: int) -> bool:
    """Whether so many tokens can be taken off a cache, and others added: of layers with a window only what is in it."""
    return all(
        _is_plain(layer) or (_has_window(layer) and (not tokens or layer.get_seq_length() < layer.sliding_window))
        for layer in cache.layers
    )


def _is_plain(layer: Any) -> bool:
    from transformers.cache_utils import DynamicLayer

    return type(layer) is DynamicLayer


def _has_window(layer: Any) -> bool:
    """Not one that has a state besides, which begins anew with every prompt."""
    from transformers.cache_utils import DynamicSlidingWindowLayer

    return type(layer) is DynamicSlidingWindowLayer
