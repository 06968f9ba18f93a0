"""The part of a model that is not trained: it always runs as in use, and is passed over where its results are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import takewhile
from typing import Any

import torch

from pippin.errors import PippinError
from pippin.models.answering import answering
from pippin.models.first_token import layers_of
from pippin.models.plain_bert.model import PlainBert


class FrozenPart:
    """The whole core of a model, or its embeddings and some of its lowest layers.

    What comes out of it, the hidden states, is one vector a row where the head reads no more than that (the whole
    core, or all layers), and otherwise one for each token.
    """

    def __init__(self, model: Any, layers: int | None, every_token: bool = False):
        """``layers`` are the lowest ones; None: the whole core. ``every_token``: whether all are read of it."""
        self.model, self.layers = model, layers
        core = getattr(model, model.base_model_prefix)
        self.is_core = layers is None
        self._outermost: list[torch.nn.Module] = [core]
        if layers is not None:
            every = self._list = _layers(model)
            # The embeddings, and where there is one their projection.
            self._before = list(takewhile(lambda child: every not in child.modules(), core.children()))
            self._holder, self._list_name = next(
                (parent, name) for parent in core.modules() for name, child in parent.named_children() if child is every
            )
            self._upper = every[layers:]
            self._outermost = [*self._before, *every[:layers]]
        self.one_vector_a_row = not every_token and (layers is None or layers == len(self._list))
        for module in self._outermost:
            module.requires_grad_(False).eval()
            # Without dropout, also when the rest of the model changes to training.
            module.train = lambda mode=True, module=module: module

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """All that the hidden states depend on, beside the rows."""
        for place, module in enumerate(self._outermost):
            for name, tensor in module.state_dict().items():
                yield f"{place} {name}", tensor

    def hidden_states(self, call: Callable[[], Any]) -> torch.Tensor:
        """The hidden states of a batch, given the call of the whole model; what follows this part is left out of it."""
        found: list[Any] = []

        def leave(_: Any, __: Any, answer: Any) -> None:
            found.append(answer)
            raise _Enough

        hook = self._outermost[-1].register_forward_hook(leave)
        try:
            call()
        except _Enough:
            pass
        finally:
            hook.remove()
        return self._read(found[0])

    @contextmanager
    def giving(self, hidden_states: torch.Tensor) -> Iterator[None]:
        """Within, the part gives these hidden states, whatever it is asked."""
        if self.is_core:
            with answering(self._outermost[0], lambda *_, **__: _answer_of_core(self.model, hidden_states)):
                yield
            return
        answer = hidden_states[:, None] if self.one_vector_a_row else hidden_states
        first, *others = self._before
        with ExitStack() as undone:
            undone.enter_context(answering(first, lambda *_, **__: answer))
            for module in others:
                undone.enter_context(answering(module, lambda given, *_, **__: given))
            undone.callback(self._holder._modules.update, {self._list_name: self._list})
            self._holder._modules[self._list_name] = self._upper
            yield

    def _read(self, answer: Any) -> torch.Tensor:
        if isinstance(answer, tuple):
            answer = answer[0]
        if not isinstance(answer, torch.Tensor):  # transformers' record of all that a core gives
            pooled = getattr(answer, "pooler_output", None)
            answer = answer.last_hidden_state if pooled is None else pooled
        return answer[:, 0] if self.one_vector_a_row and answer.ndim == 3 else answer


class _Enough(Exception):
    """Ends a call of the model where the frozen part does."""


def _layers(model: Any) -> torch.nn.ModuleList:
    try:
        return layers_of(model)
    except IndexError:
        raise PippinError(
            f"Pippin cannot find the layers of {type(model).__name__}, so it cannot freeze some of them. "
            "To freeze all of them: --freeze core."
        ) from None


def _answer_of_core(model: Any, hidden_states: torch.Tensor) -> Any:
    """What a model's head expects from its core: of all tokens it reads the first alone."""
    if isinstance(model, PlainBert):
        return hidden_states
    from transformers.modeling_outputs import BaseModelOutputWithPooling

    return BaseModelOutputWithPooling(last_hidden_state=hidden_states[:, None], pooler_output=hidden_states)
