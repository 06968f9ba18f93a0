"""A model's forward without the padding, for callers that hand it padded batches and know nothing of this.

While a step runs, ``model.forward`` is this one: it strips the padding by the attention mask, lets the model's own
forward compute what the head reads (see pippin/models), and gives the logits in the caller's order. Whatever it does
not know goes to the model's own forward as it came. Between steps the model is as the user made it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import MethodType
from typing import Any

import numpy as np
import torch
from torch.utils.hooks import RemovableHandle

from pippin.data.batches import padded_lengths
from pippin.data.collate import NO_LABEL, Packing, packing_of
from pippin.machine.drivers.base import Backend
from pippin.models.dropout import QuickDropout
from pippin.models.families import Family, attention_window
from pippin.models.first_token import read_first_tokens
from pippin.models.last_token import read_last_tokens
from pippin.models.network import ATTEND
from pippin.models.registry import AttentionLayout, registered_attention

#: Inputs that may come; any other one, where it is not None, is for the model's own forward.
_ROWS = ("input_ids", "attention_mask", "token_type_ids")
_BESIDE = ("labels", "num_items_in_batch")
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
#: Set by transformers for gradient checkpointing; it asks for gradients, whatever the rows look like.
_HARMLESS_HOOK = "make_inputs_require_grads"
#: Widths that padded batches are cut down to, where a device does not like many shapes.
_WIDTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


class PackedForward:
    """Stands in for the forward of one model."""

    def __init__(
        self,
        model: Any,
        family: Family,
        backend: Backend,
        on_refusal: Callable[[str], None],
        in_half: bool = False,
        known_hooks: frozenset[int] = frozenset(),
        every_token: bool = False,
    ):
        """``every_token``: whether the head answers for each token rather than for each row."""
        self.model, self.family, self.backend, self.every_token = model, family, backend, every_token
        self.on_refusal, self.in_half, self.known_hooks = on_refusal, in_half, known_hooks
        self.reads_last = family.causal and not every_token
        packs = backend.traits.packed_attention
        self.layout = AttentionLayout(ATTEND[packs] if packs else None)
        self._kept: ExitStack | None = None
        self._keeps = False
        self._modules: list[torch.nn.Module] = []

    @contextmanager
    def standing_in(self, until_backward: bool = False) -> Iterator[None]:
        """Within, calls of the model come here; with ``until_backward`` what a checkpointed layer needs stays on."""
        own = self.model.__dict__.get("forward")
        if getattr(own, "stands_in_by", None) is self:  # a step within a step
            yield
            return
        forward = self.model.forward

        def stand_in(model: Any, *arguments: Any, **inputs: Any) -> Any:
            if model is not self.model:  # a copy that a script has made of it within a step
                return type(model).forward(model, *arguments, **inputs)
            return self._call(forward, arguments, inputs)

        stand_in.stands_in_by = self  # type: ignore[attr-defined]
        self._keeps = until_backward
        self._modules = list(self.model.modules())
        self.model.__dict__["forward"] = MethodType(stand_in, self.model)  # which a copy binds to itself
        try:
            with ExitStack() as self._kept:
                yield
        finally:
            self._kept, self._keeps = None, False
            if own is None:
                del self.model.__dict__["forward"]
            else:
                self.model.__dict__["forward"] = own

    def _call(self, forward: Any, arguments: tuple[Any, ...], inputs: dict[str, Any]) -> Any:
        lengths, why = self._lengths(arguments, inputs)
        if lengths is None:
            self.on_refusal(why)
            return forward(*arguments, **inputs)
        given = {name: value for name, value in inputs.items() if value is not None}
        if self.layout.attend is None:
            with self._reaching_in(None):
                outputs = forward(**self._cut(given, lengths))
            if self.every_token:
                missing = given["input_ids"].shape[1] - outputs.logits.shape[1]
                outputs.logits = torch.nn.functional.pad(outputs.logits, (0, 0, 0, missing))
            return outputs
        ids = given["input_ids"]
        packing, kept, places = self._places(ids, lengths)
        with self._reaching_in(packing):
            outputs = forward(**self._packed(given, kept, places))
        if self.every_token:
            padded = outputs.logits.new_zeros(ids.numel(), outputs.logits.shape[-1])
            outputs.logits = padded.index_copy(0, kept, outputs.logits[0]).view(*ids.shape, -1)
        else:
            logits = outputs.logits[0] if self.reads_last else outputs.logits
            outputs.logits = logits.index_select(0, places.argsort())
        return outputs

    def _places(self, ids: torch.Tensor, lengths: np.ndarray) -> tuple[Packing, torch.Tensor, torch.Tensor]:
        """Where the rows lie when they are packed, the places of their tokens in the padded rows, and their own."""
        order = np.argsort(lengths, kind="stable")
        packing = packing_of(lengths[order], self.backend.traits.packed_attention == "groups")
        if self.reads_last:
            lasts = packing.starts[:-1].numpy() + self._lasts(ids)[order]
            packing = replace(packing, lasts=torch.from_numpy(lasts))
        if not packing.groups:
            packing = packing.moved(self.backend.to_device)
        kept = torch.as_tensor(_kept(lengths, order, ids.shape[1]), device=ids.device)
        return packing, kept, torch.as_tensor(order, device=ids.device)

    def _lengths(self, arguments: tuple[Any, ...], inputs: dict[str, Any]) -> tuple[np.ndarray | None, str]:
        """Tokens of each row; None, and the reason, where the batch is nothing for this forward."""
        ids, mask = inputs.get("input_ids"), inputs.get("attention_mask")
        others = [name for name, value in inputs.items() if name not in (*_ROWS, *_BESIDE) and value is not None]
        if arguments or ids is None or ids.dim() != 2 or not len(ids):
            return None, "the script does not pass input_ids to the model by name"
        if others:
            return None, f"the script also passes {', '.join(others)} to the model"
        if self.model.config.output_hidden_states or self.model.config.output_attentions:
            return None, "the model is set up to return more than logits"
        if hooks_of(self._modules) != self.known_hooks:
            return None, "the model has hooks"
        if self._recomputes() and not self._keeps:
            return None, "layers are recomputed, and the script computes its loss itself"
        rows, width = ids.shape
        lengths = np.full(rows, width)
        if mask is not None:
            if mask.shape != ids.shape:
                return None, "the attention mask does not have the shape of the rows"
            seen = mask.cpu().numpy()
            lengths = np.asarray((seen != 0).sum(1))
            if not lengths.all() or (seen != (np.arange(width) < lengths[:, None])).any():
                return None, "the padding is not at the end of the rows"
        if self.reads_last and (why := self._of_last_tokens(ids, lengths)):
            return None, why
        if self.every_token and (why := self._of_labels(inputs.get("labels"), lengths, width)):
            return None, why
        window = attention_window(self.model.config)
        by_kernel = self.backend.traits.packed_attention == "kernel"
        in_half = self.in_half or self.model.dtype != torch.float32
        if by_kernel and window and lengths.max() > window and not in_half:
            return None, f"no fp32 kernel here has a window of {window} tokens"
        return lengths, ""

    def _of_last_tokens(self, ids: torch.Tensor, lengths: np.ndarray) -> str:
        """What speaks against answering at each row's last token, where its model looks for that by its number."""
        if self.model.config.pad_token_id is None:
            return "the model names no padding token"
        return "the padding is not the model's padding token" if (self._lasts(ids) >= lengths).any() else ""

    def _lasts(self, ids: torch.Tensor) -> np.ndarray:
        """In each row the place of the last token that is no padding token, as transformers finds it."""
        is_text = ids.cpu().numpy() != self.model.config.pad_token_id
        return (np.arange(ids.shape[1]) * is_text).argmax(1)

    def _of_labels(self, labels: torch.Tensor | None, lengths: np.ndarray, width: int) -> str:
        """What speaks against leaving out the padding of rows with a label for each token; empty: nothing."""
        if labels is None:  # a loss of the script's own might look at the padding's logits
            return "the script computes its loss itself" if self.model.training else ""
        if labels.shape != (len(lengths), width):
            return "the labels do not have the shape of the rows"
        counted = labels.cpu().numpy() != NO_LABEL
        return "padding has labels that count" if counted[np.arange(width) >= lengths[:, None]].any() else ""

    def _cut(self, inputs: dict[str, Any], lengths: np.ndarray) -> dict[str, Any]:
        """Padded rows without the columns that are padding in all of them."""
        width = int(padded_lengths(lengths.max(), _WIDTHS))
        like_rows = (*_ROWS, *self._per_token)
        return {name: value[:, :width].contiguous() if name in like_rows else value for name, value in inputs.items()}

    def _packed(self, inputs: dict[str, Any], kept: torch.Tensor, places: torch.Tensor) -> dict[str, Any]:
        """Rows end to end, shortest first: the places of their tokens, and of the rows themselves, are given."""
        per_token = ("input_ids", "token_type_ids", "position_ids", *self._per_token)
        packed = {
            name: value.reshape(-1).index_select(0, kept)[None]
            for name, value in {**inputs, "position_ids": self._positions(inputs["input_ids"])}.items()
            if name in per_token
        }
        if "labels" in inputs and not self.every_token:
            labels = inputs["labels"].index_select(0, places)
            packed["labels"] = labels[None] if self.reads_last else labels
        if "num_items_in_batch" in inputs:
            packed["num_items_in_batch"] = inputs["num_items_in_batch"]
        return packed

    @property
    def _per_token(self) -> tuple[str, ...]:
        return ("labels",) if self.every_token else ()

    def _positions(self, ids: torch.Tensor) -> torch.Tensor:
        """Positions as the model counts them in padded rows."""
        if not self.family.positions_after_padding:
            return torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        # Not the configuration's number, which transformers changes to the tokenizer's: the model was built before.
        padding = next(each.padding_idx for each in self._modules if hasattr(each, "position_embeddings"))
        counted = ids.ne(padding).int()
        return (counted.cumsum(1) * counted).long() + padding

    @contextmanager
    def _reaching_in(self, packing: Any) -> Iterator[None]:
        """Our attention and the last layer's short cut, for this call, or until the backward pass is over."""
        stack = ExitStack()
        stack.enter_context(self._changed(packing))
        if self._keeps and self._recomputes():
            assert self._kept is not None
            self._kept.push(stack)
            self._keeps = False  # a second call in this step would change what the first is recomputed with
            yield
            return
        with stack:
            yield

    def _recomputes(self) -> bool:
        return bool(self.model.training and getattr(self.model, "is_gradient_checkpointing", False))

    @contextmanager
    def _changed(self, packing: Any) -> Iterator[None]:
        config = self.model.config
        own = config._attn_implementation
        quickens = self.backend.slow_dropout and self.model.training
        dropouts = [module for module in self._modules if type(module) is torch.nn.Dropout] if quickens else []
        for module in self._modules:
            module.__dict__["pippin_layout"] = self.layout
        for module in dropouts:
            module.__dict__["forward"] = functools.partial(QuickDropout.forward, module)
        hooks = self._hooks_of_head()
        self.layout.packing, self.layout.set_aside = packing, None
        if packing is not None or not self.family.causal:  # padded, a decoder's own attention knows what comes later
            config._attn_implementation = registered_attention(self.layout, own)
        try:
            yield
        finally:
            config._attn_implementation = own
            self.layout.packing = self.layout.set_aside = None
            for hook in hooks:
                hook.remove()
            for module in dropouts:
                del module.__dict__["forward"]
            for module in self._modules:
                del module.__dict__["pippin_layout"]

    def _hooks_of_head(self) -> list[RemovableHandle]:
        """The short cuts to what the head reads."""
        if self.every_token:
            return []
        if self.family.causal:
            return read_last_tokens(self.model, self.layout)
        return read_first_tokens(self.model, self.family, self.layout)


def _kept(lengths: np.ndarray, order: np.ndarray, width: int) -> np.ndarray:
    """The places of all tokens that are not padding, in padded rows of this width, row by row in the order."""
    inside = np.arange(width) < lengths[order][:, None]
    return (order[:, None] * width + np.arange(width))[inside]


def hooks_of(modules: Iterable[torch.nn.Module]) -> frozenset[int]:
    """The numbers of all hooks on a model's parts that might look at what goes through."""
    return frozenset(
        number
        for module in modules
        for hooks in (getattr(module, name) for name in _HOOKS)
        for number, hook in hooks.items()
        if getattr(hook, "__name__", "") != _HARMLESS_HOOK
    )
