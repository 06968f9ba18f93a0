"""A language model as training and evaluation call it: a batch in, the losses of its learnt tokens out.

The core runs on all tokens, the head on the hidden states of those that are learnt, by the model's own code: what it
does with logits, such as capping them, is done here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from pippin.data.collate import Batch, Packing
from pippin.models.language_head import head_of, trained_in_head
from pippin.models.network import Network
from pippin.models.token_losses import LOGIT_BYTES, losses_and_hits, summed_loss, tokens_at_once
from pippin.models.widened import held_wide


class LanguageNetwork(Network):
    """Gives the summed loss where a gradient is wanted, else each token's loss and whether it was the likeliest."""

    def __init__(self, *arguments: Any, smoothing: float = 0.0, most_bytes: int = LOGIT_BYTES, **settings: Any):
        """``most_bytes`` of logits are held at a time."""
        self.own_attention: str = arguments[0].config._attn_implementation
        super().__init__(*arguments, **settings)
        self.collate = self.collate.with_targets()
        self.smoothing = smoothing
        self.shows_logits = False  # those of the learnt tokens, for whoever wants to see them
        self.core: torch.nn.Module = self.model.base_model
        self.head = head_of(self.model)
        self.at_once = tokens_at_once(self.model.get_output_embeddings().weight.shape[0], most_bytes)

    @contextmanager
    def as_transformers_has_it(self) -> Iterator[None]:
        """Within, the model attends as it came, so that it can generate."""
        config, ours = self.model.config, self.model.config._attn_implementation
        config._attn_implementation = self.own_attention
        try:
            with self.backend.autocast(self.precision):
                yield
        finally:
            config._attn_implementation = ours

    def logits(self, batch: Batch) -> Tensor:
        inputs, packing = self.on_device(batch)
        with self.backend.autocast(self.precision):
            hidden_states = self._hidden_states(inputs, packing, batch.hidden_states)
            if batch.targets is None or batch.labels is None:  # nothing is asked
                return hidden_states
            targets, labels = self.backend.to_device(batch.targets), self.backend.to_device(batch.labels)
            chosen = hidden_states.flatten(0, 1).index_select(0, targets)
            wanted = labels.flatten().index_select(0, targets)
            if self.shows_logits:
                return self.head(chosen)
            with held_wide(self.model.get_output_embeddings()):
                if torch.is_grad_enabled():
                    return summed_loss(
                        self.head, chosen, wanted, self.at_once, trained_in_head(self.model), self.smoothing
                    )
                figures = losses_and_hits(self.head, chosen, wanted, self.at_once)
        every = torch.zeros(labels.numel(), 2, device=figures.device)
        return every.index_copy_(0, targets, figures).view(*labels.shape, 2)

    def _hidden_states(self, inputs: dict[str, Tensor], packing: Packing | None, known: Tensor | None) -> Tensor:
        """Of all tokens; ``known`` are those that a frozen part gives for them."""
        self.layout.packing = packing
        if known is None:
            return self.core(**inputs, use_cache=False).last_hidden_state
        assert self.frozen is not None
        with self.frozen.giving(self.backend.to_device(known)):
            return self.core(**inputs, use_cache=False).last_hidden_state
