"""Gradients added up over a group: in buckets, each as soon as the backward pass is done with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch

from pippin.engine.group import Group, Pending, push, tree_sum

#: Bytes of a bucket: large enough for the link, small enough to be sent while the rest is computed.
BUCKET_BYTES = 25 << 20


class Reducer:
    """Collects the gradients of one step, shard by shard, and gives each parameter the sum over all processes.

    Gradients are accumulated right in the buckets. Exactly: the shards' gradients are the leaves of one binary tree,
    whoever computed them. Else each process has one shard, and sums are made as is quickest.
    """

    def __init__(
        self, parameters: Sequence[torch.nn.Parameter], group: Group, counts: Sequence[int], is_exact: bool
    ) -> None:
        """``counts``: how many shards each process has, by rank."""
        self.group, self.counts, self.is_exact = group, counts, is_exact
        self.parameters = list(parameters)
        self.buckets = [Bucket(part) for part in _parts(self.parameters)]
        self.overlaps = group.overlaps(self.parameters[0].device)
        self.pending: list[Pending] = []
        self.is_last = False
        self.touched: set[int] = set()
        self.hooks = [parameter.register_post_accumulate_grad_hook(self._on_gradient) for parameter in self.parameters]

    def begin(self) -> None:
        """Make ready for the first shard of a step."""
        self.pending, self.is_last, self.touched = [], False, set()
        for bucket in self.buckets:
            bucket.begin()

    def next_shard(self) -> None:
        """Take the gradients of a shard that is done, and make ready for the next one."""
        for bucket in self.buckets:
            bucket.next_shard(self.is_branch)

    @contextmanager
    def last_backward(self) -> Iterator[None]:
        """Around the backward pass that completes this process's gradients: what is complete is sent on its way."""
        self.is_last = self.overlaps
        try:
            yield
        finally:
            self.is_last = False

    def finish(self, losses: torch.Tensor, figures: Sequence[int]) -> tuple[torch.Tensor, list[int]]:
        """Give every parameter its gradient; returns the sum of the shards' losses and those of some whole numbers.

        ``losses``: of each shard, 0 for those of other processes.
        """
        while len(self.pending) < len(self.buckets):
            self._send()
        every_loss = self.group.sum(losses)
        touched = [id(parameter) in self.touched for parameter in self.parameters]
        found = self.group.total(np.array([*figures, *touched], np.int64)).tolist()
        for bucket, pending in zip(self.buckets, self.pending, strict=True):
            bucket.take(pending())
        for parameter, times in zip(self.parameters, found[len(figures) :], strict=True):
            if not times:  # nobody's rows need it: as in one process, it has no gradient
                parameter.grad = None
        return tree_sum(every_loss()), found[: len(figures)]

    @property
    def is_branch(self) -> bool:
        """Whether this process's shards make up a branch of the tree, so that one sum of them is enough."""
        return not self.is_exact or is_branch(sum(self.counts), self.group.size)

    def _on_gradient(self, parameter: torch.nn.Parameter) -> None:
        self.touched.add(id(parameter))
        if not self.is_last:
            return
        for bucket in self.buckets:
            bucket.waits_for.discard(id(parameter))
        # All processes send the buckets in one order.
        while len(self.pending) < len(self.buckets) and not self.buckets[len(self.pending)].waits_for:
            self._send()

    def _send(self) -> None:
        bucket = self.buckets[len(self.pending)]
        if not self.is_exact:
            self.pending.append(self.group.sum(bucket.flat))
            return
        leaves = bucket.leaves(self.is_branch)
        counts = [1] * self.group.size if self.is_branch else self.counts
        self.pending.append(self.group.ordered_sum(leaves, counts))


class Bucket:
    """The gradients of some parameters end to end, in one tensor."""

    def __init__(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        self.parameters = parameters
        self.flat = torch.zeros(sum(each.numel() for each in parameters), dtype=parameters[0].dtype,
                                device=parameters[0].device)  # fmt: skip
        self.held: list[tuple[int, torch.Tensor]] = []
        """Sums of earlier shards, or these one by one."""
        self.waits_for: set[int] = set()

    def begin(self) -> None:
        self.held = []
        self.waits_for = set(map(id, self.parameters))
        self.flat.zero_()
        self._lend()

    def next_shard(self, is_branch: bool) -> None:
        leaf = self.flat.clone()
        if is_branch:
            push(self.held, leaf)
        else:
            self.held.append((0, leaf))
        self.flat.zero_()

    def leaves(self, is_branch: bool) -> list[torch.Tensor]:
        """What this process hands in: one sum, or each shard's gradients."""
        if not is_branch:
            return [*(leaf for _, leaf in self.held), self.flat]
        held = list(self.held)
        push(held, self.flat)
        (_, total), *others = reversed(held)
        for _, branch in others:
            total = branch + total
        return [total]

    def take(self, total: torch.Tensor) -> None:
        if total is not self.flat:
            self.flat.copy_(total)

    def _lend(self) -> None:
        """Let every parameter's gradient lie in the bucket, where backward adds to it."""
        start = 0
        for parameter in self.parameters:
            parameter.grad = self.flat[start : start + parameter.numel()].view_as(parameter)
            start += parameter.numel()


def is_branch(shards: int, processes: int) -> bool:
    """Whether equal parts of so many shards are branches of their tree."""
    part = shards // processes
    return shards % processes == 0 and part & (part - 1) == 0


def _parts(parameters: Sequence[torch.nn.Parameter]) -> Iterator[list[torch.nn.Parameter]]:
    """The last parameters first, since backward begins with them."""
    part: list[torch.nn.Parameter] = []
    size = 0
    for parameter in reversed(parameters):
        if part and (size >= BUCKET_BYTES or parameter.dtype != part[0].dtype):
            yield part
            part, size = [], 0
        part.append(parameter)
        size += parameter.numel() * parameter.element_size()
    if part:
        yield part
