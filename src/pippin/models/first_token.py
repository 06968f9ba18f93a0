"""The last layer for first tokens only: a classification head reads nothing else.

Keys and values are made for every token; queries, what follows attention, and the feed-forward part for the first
token of each row. The numbers are the same, and most of a layer's work falls away. Whatever the layout, first tokens go
through the layer as 1 × rows × width: as so many matrices of one row they are slow on some devices, or even wrong.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from pippin.models.families import Family
from pippin.models.registry import AttentionLayout


def read_first_tokens(model: Any, family: Family, layout: AttentionLayout) -> list[RemovableHandle]:
    """Make the last layer of a model give rows × 1 × width: their first tokens, until what comes back is removed."""
    last = layers_of(model)[-1]
    if family.key is None or family.value is None:
        return [last.register_forward_hook(lambda _, __, found: _as_rows(_mapped(found, lambda x: _firsts(x, layout))))]
    hooks = _Shortcut(layout).attach(last, last.get_submodule(family.key), last.get_submodule(family.value))
    return [*hooks, last.register_forward_hook(lambda _, __, found: _as_rows(found))]


def layers_of(model: Any) -> torch.nn.ModuleList:
    """The layers of an encoder: the list that is as long as its configuration says."""
    count = model.config.num_hidden_layers
    lists = [module for module in model.modules() if isinstance(module, torch.nn.ModuleList) and len(module) == count]
    return lists[0]


class _Shortcut:
    """Hooks that let a layer see first tokens only, but for its keys and values."""

    def __init__(self, layout: AttentionLayout):
        self.layout = layout
        self.tokens: torch.Tensor | None = None
        self.keys: torch.Tensor | None = None

    def attach(self, layer: torch.nn.Module, key: torch.nn.Module, value: torch.nn.Module) -> list[RemovableHandle]:
        hooks = [layer.register_forward_pre_hook(self._enter, with_kwargs=True)]
        for module, leave in ((key, self._set_keys_aside), (value, self._set_values_aside)):
            hooks.append(module.register_forward_pre_hook(lambda *_: (self.tokens,)))
            hooks.append(module.register_forward_hook(leave))
        return hooks

    def _enter(self, _: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict]:
        if arguments:
            self.tokens, *others = arguments
            return (_firsts(self.tokens, self.layout), *others), named
        self.tokens = named["hidden_states"]
        return (), {**named, "hidden_states": _firsts(self.tokens, self.layout)}

    # What these give back has the shape that the layer expects, and is not used: attention takes what was set aside.

    def _set_keys_aside(self, _: Any, __: Any, keys: torch.Tensor) -> torch.Tensor:
        self.keys = keys
        return self._shortened(keys)

    def _set_values_aside(self, _: Any, __: Any, values: torch.Tensor) -> torch.Tensor:
        assert self.keys is not None
        self.layout.set_aside = (self.keys, values)
        self.tokens = self.keys = None
        return self._shortened(values)

    def _shortened(self, tokens: torch.Tensor) -> torch.Tensor:
        packing = self.layout.packing
        return tokens[:, 0][None] if packing is None else tokens[:, : packing.rows]


def _firsts(tokens: torch.Tensor, layout: AttentionLayout) -> torch.Tensor:
    """The first token of each row: 1 × rows × width."""
    if layout.packing is None:
        return tokens[:, 0][None]
    return tokens.index_select(1, layout.packing.starts[: layout.packing.rows])


def _as_rows(found: Any) -> Any:
    """Rows × 1 × width, as the head expects them."""
    return _mapped(found, lambda tokens: tokens.transpose(0, 1))


def _mapped(found: Any, change: Any) -> Any:
    """A layer's answer with its tokens changed; some layers give them in a tuple."""
    return (change(found[0]), *found[1:]) if isinstance(found, tuple) else change(found)
