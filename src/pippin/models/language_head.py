"""From a language model's hidden states to its logits, by the model's own code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pippin.models.answering import answering


def head_of(model: Any, forward: Callable[..., Any] | None = None) -> Callable[[Tensor], Tensor]:
    """The logits of some tokens, given their hidden states: what the model does after its core, such as capping them.

    ``forward`` is the model's own, where somebody else's stands in its place.
    """
    core, whole = model.base_model, forward or model

    def head(hidden_states: Tensor) -> Tensor:
        from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions

        known = BaseModelOutputWithPastAndCrossAttentions(last_hidden_state=hidden_states[None])
        with answering(core, lambda *_, **__: known):
            return whole(input_ids=None, inputs_embeds=hidden_states[None], use_cache=False).logits[0]

    return head


def trained_in_head(model: Any) -> list[torch.nn.Parameter]:
    """The head's parameters that are trained; a tied one is the core's, too."""
    prefix = f"{model.base_model_prefix}."
    named = model.named_parameters(remove_duplicate=False)
    return [each for name, each in named if each.requires_grad and not name.startswith(prefix)]
