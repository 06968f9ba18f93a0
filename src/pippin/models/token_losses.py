"""Losses of the tokens that are learnt, from hidden states: the vocabulary's logits are made for some at a time.

All logits of a long batch would take more memory than the rest of the step. Here a stretch of tokens goes through the
head, and its part of the gradient is taken at once, before the next one's logits take its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from pippin.data.collate import NO_LABEL

#: Most bytes of logits in full precision at a time.
LOGIT_BYTES = 64 * 2**20

#: Hidden states of some tokens to the logits of the vocabulary.
Head = Callable[[Tensor], Tensor]


def tokens_at_once(vocabulary: int, most_bytes: int = LOGIT_BYTES) -> int:
    """How many tokens' logits are held at once.

    >>> tokens_at_once(49152), tokens_at_once(151936)
    (341, 110)
    """
    return max(1, most_bytes // (4 * vocabulary))


def summed_loss(
    head: Head, hidden_states: Tensor, labels: Tensor, at_once: int, trained: Sequence[Tensor], smoothing: float = 0.0
) -> Tensor:
    """The sum of the tokens' cross-entropies. ``trained`` are the head's own parameters that want a gradient."""
    return _SummedLoss.apply(hidden_states, labels, head, at_once, smoothing, *trained)


def losses_and_hits(head: Head, hidden_states: Tensor, labels: Tensor, at_once: int) -> Tensor:
    """For each token its loss, and 1 where it was the likeliest: tokens × 2, without a gradient."""
    found = torch.zeros(len(labels), 2, device=hidden_states.device)
    for part in _parts(len(labels), at_once):
        logits = head(hidden_states[part]).float()
        found[part, 0] = cross_entropies(logits, labels[part])
        found[part, 1] = (logits.argmax(-1) == labels[part]).float()
    return found


def cross_entropies(logits: Tensor, labels: Tensor, smoothing: float = 0.0) -> Tensor:
    """Of each token; 0 where nothing is learnt.

    torch's own adds a vocabulary's exponentials one after the other and loses the many small ones: on CPUs its losses
    are too low by some millionths. ``logsumexp`` adds them in a tree.
    """
    sums = logits.logsumexp(-1)
    found = sums - logits.gather(-1, labels.clamp(min=0)[:, None]).squeeze(-1)
    if smoothing:
        found = (1 - smoothing) * found + smoothing * (sums - logits.mean(-1))
    return found * (labels != NO_LABEL)


class _SummedLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden_states: Tensor, labels: Tensor, head: Head, at_once: int, smoothing: float, *trained: Tensor
    ) -> Tensor:
        total = torch.zeros((), device=hidden_states.device)
        gradient = torch.zeros_like(hidden_states)
        gradients = [torch.zeros_like(parameter) for parameter in trained]
        for part in _parts(len(labels), at_once):
            with torch.enable_grad():
                states = hidden_states[part].detach().requires_grad_()
                loss = cross_entropies(head(states).float(), labels[part], smoothing).sum()
                own, *others = torch.autograd.grad(loss, [states, *trained])
            total += loss.detach()
            gradient[part] = own
            for whole, each in zip(gradients, others, strict=True):
                whole += each
        ctx.save_for_backward(gradient, *gradients)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        gradient, *gradients = ctx.saved_tensors
        return (gradient * above, None, None, None, None, *(each * above for each in gradients))


def _parts(count: int, at_once: int) -> Iterator[slice]:
    return (slice(start, start + at_once) for start in range(0, count, at_once))
