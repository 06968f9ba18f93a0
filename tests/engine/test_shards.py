"""Gradients of shards: added as one tree, however many processes make its branches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from pippin.engine import reduce
from pippin.engine.group import SOLO, Solo, tree_sum
from pippin.engine.reduce import Reducer, is_branch
from pippin.engine.shards import SharedStep, key


@pytest.mark.parametrize("leaves", [1, 2, 3, 4, 5, 8])
def test_the_order_of_a_sum_is_that_of_a_tree(leaves):
    """Of 1e8 and small numbers each order has a sum of its own."""
    numbers = [torch.tensor([(1e8 if place % 3 else 1.0) / (place + 1)]) for place in range(leaves)]

    def tree(part: list[torch.Tensor]) -> torch.Tensor:
        half = 1
        while 2 * half < len(part):
            half *= 2
        return part[0] if len(part) == 1 else tree(part[:half]) + tree(part[half:])

    assert torch.equal(tree_sum(iter(numbers)), tree(numbers))


@pytest.mark.parametrize(("processes", "branches"), [(1, True), (2, True), (4, True), (8, True), (3, False)])
def test_branches(processes, branches):
    numbers = [torch.tensor([3.0**place]) for place in range(8)]
    assert is_branch(8, processes) == branches
    if branches:
        part = 8 // processes
        made = [tree_sum(numbers[start : start + part]) for start in range(0, 8, part)]
        assert torch.equal(tree_sum(made), tree_sum(numbers))


class _Pair(Solo):
    """Two processes in one: the other one's gradients are twice these."""

    size = 2

    def __init__(self) -> None:
        self.sent: list[int] = []

    def overlaps(self, device):
        return True

    def total(self, numbers):
        return numbers * 2

    def sum(self, tensor):
        self.sent.append(len(tensor))
        return lambda: tensor * 3

    def ordered_sum(self, leaves, counts):
        self.sent.append(len(leaves[0]))
        return lambda: tree_sum(leaves) * 3


@pytest.fixture
def layers(monkeypatch):
    """Three that are used, one that is not; a bucket for each."""
    monkeypatch.setattr(reduce, "BUCKET_BYTES", 1)
    torch.manual_seed(0)
    return torch.nn.ModuleList(torch.nn.Linear(4, 4, bias=False) for _ in range(4))


def run(layers, rows: torch.Tensor) -> torch.Tensor:
    return layers[2](layers[1](layers[0](rows)).tanh()).square().sum()


@pytest.mark.parametrize("is_exact", [True, False])
def test_gradients_of_all_shards_and_processes(layers, is_exact):
    rows = torch.randn(6, 4)
    shards = rows.split(2) if is_exact else [rows]
    run(layers, rows).backward()
    wanted = [each.weight.grad for each in layers]
    layers.zero_grad()
    group = _Pair()
    reducer = Reducer(list(layers.parameters()), group, [len(shards)] * 2, is_exact)
    reducer.begin()
    for shard in shards[:-1]:
        run(layers, shard).backward()
        reducer.next_shard()
    with reducer.last_backward():
        run(layers, shards[-1]).backward()
        # The unused layer's bucket would be the first, so nothing can be sent before it.
    loss, figures = reducer.finish(torch.tensor([1.0, 2.0]), [5])
    assert (float(loss), figures) == (9.0, [10])
    for parameter, gradient in zip(layers.parameters(), wanted, strict=True):
        if gradient is None:
            assert parameter.grad is None, "as in one process"
        else:
            torch.testing.assert_close(parameter.grad, 3 * gradient)


def test_what_is_complete_is_sent_while_backward_goes_on(layers):
    group, order = _Pair(), []
    reducer = Reducer(list(layers[:3].parameters()), group, [1, 1], is_exact=False)
    layers[0].weight.register_hook(lambda _: order.append(len(group.sent)))
    reducer.begin()
    with reducer.last_backward():
        run(layers, torch.randn(2, 4)).backward()
    assert order == [2], "two of three layers were on their way before the first layer's gradient was there"
    assert len(group.sent) == 3


def test_every_shard_of_every_step_has_its_own_random_numbers():
    assert len({key(seed, step, shard) for seed in (1, 2) for step in (1, 2) for shard in range(4)}) == 16


class _OutOfMemoryElsewhere(Solo):
    size = 2

    def total(self, numbers):
        return numbers + np.eye(1, len(numbers), 1, dtype=np.int64)[0]


def test_memory_that_runs_out_elsewhere_is_taken_as_ones_own():
    class Step:
        backend = type("Backend", (), {"device": torch.device("cpu"), "is_out_of_memory": lambda self, error: True})()
        task = type("Task", (), {"count": staticmethod(len)})
        parameters = [torch.nn.Parameter(torch.ones(2))]  # noqa: RUF012

    class Encoded:
        labels, per_token = np.zeros(8, np.int64), False

    step = SharedStep(Step(), Encoded(), 4, lambda *_, **__: None, group=_OutOfMemoryElsewhere(), shards=4, seed=1)
    step._backward = lambda *_: step.reducer.begin() or 0  # type: ignore[method-assign]
    with pytest.raises(MemoryError, match="another process"):
        step._gradients(np.arange(8), 1)


def test_one_process_adds_its_shards_itself(layers):
    reducer = Reducer([layers[0].weight], SOLO, [2], is_exact=True)
    reducer.begin()
    for place in range(2):
        layers[0](torch.ones(1, 4) * (place + 1)).sum().backward()
        if not place:
            reducer.next_shard()
    reducer.finish(torch.zeros(2), [])
    assert torch.equal(layers[0].weight.grad, torch.full((4, 4), 3.0))
