"""The same for language models that are trained: the core runs without padding, the head on what is learnt alone.

Their logits are not made as a whole, so this is for callers that take the loss. In evaluation everything is as it came.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pippin.data.collate import NO_LABEL
from pippin.drop_in.packed_forward import PackedForward
from pippin.machine.drivers.base import Backend
from pippin.models.families import Family
from pippin.models.language_head import head_of, trained_in_head
from pippin.models.token_losses import summed_loss, tokens_at_once


class LanguageForward(PackedForward):
    """Stands in for the forward of one language model."""

    def __init__(
        self,
        core: Any,
        model: Any,
        family: Family,
        backend: Backend,
        on_refusal: Callable[[str], None],
        in_half: bool,
        known_hooks: frozenset[int],
    ):
        """``core`` is the model itself where adapters are laid over it."""
        super().__init__(model, family, backend, on_refusal, in_half, known_hooks, every_token=True)
        self.core = core
        self.at_once = tokens_at_once(core.get_output_embeddings().weight.shape[0])

    def _call(self, forward: Any, arguments: tuple[Any, ...], inputs: dict[str, Any]) -> Any:
        from transformers.modeling_outputs import CausalLMOutputWithPast

        if not (self.model.training and torch.is_grad_enabled()):
            return forward(*arguments, **inputs)
        lengths, why = self._lengths(arguments, inputs)
        if lengths is None:
            self.on_refusal(why)
            return forward(*arguments, **inputs)
        given = {name: value for name, value in inputs.items() if value is not None}
        # What follows a token; nothing is foretold of a row's first.
        given["labels"] = torch.nn.functional.pad(given["labels"][:, 1:], (0, 1), value=NO_LABEL)
        packing = None
        if self.layout.attend is None:
            read = self._cut(given, lengths)
        else:
            packing, kept, places = self._places(given["input_ids"], lengths)
            read = self._packed(given, kept, places)
        labels = read.pop("labels").flatten()
        count = read.pop("num_items_in_batch", None)
        with self._reaching_in(packing):
            hidden_states = self.core.base_model(**read, use_cache=False).last_hidden_state
        targets = (labels != NO_LABEL).nonzero().squeeze(1)
        chosen, wanted = hidden_states.flatten(0, 1).index_select(0, targets), labels.index_select(0, targets)
        head = head_of(self.core, forward)
        loss = summed_loss(head, chosen, wanted, self.at_once, trained_in_head(self.core))
        return CausalLMOutputWithPast(loss=loss / (len(targets) if count is None else count))
