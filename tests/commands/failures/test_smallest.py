"""Making a failing call small."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from pippin.commands.failures import search
from pippin.commands.failures.call import FailedCall, describe
from pippin.commands.failures.search import error_of, smallest_call


@pytest.fixture
def operator() -> Iterator[Callable]:
    """Makes the operator pippin_test::two out of a function of its two tensors."""
    with torch.library._scoped_library("pippin_test", "FRAGMENT") as library:
        library.define("two(Tensor x, Tensor y) -> Tensor")

        def make(kernel: Callable):
            library.impl("two", kernel, "CPU")
            return torch.ops.pippin_test.two.default

        yield make


def seen(operator, *arguments) -> tuple[FailedCall, Exception]:
    with pytest.raises(RuntimeError) as caught:
        operator(*arguments)
    return describe(operator, arguments, {}, caught.value), caught.value


def shapes(call: FailedCall | None) -> list[tuple[int, ...]]:
    assert call is not None
    return [tensor.shape for tensor in call.tensors]


def test_smallest_sizes_that_still_fail(operator):
    def kernel(x, y):
        if x.shape[1] > 20 and y.shape[0] >= 3:
            raise RuntimeError(f"too large: {x.shape[1]}")
        return x.clone()

    call, error = seen(operator(kernel), torch.randn(8, 300), torch.randn(100, 300))
    found = smallest_call(call, error)
    assert shapes(found) == [(1, 21), (3, 21)]
    assert found.error_text == "too large: 21", "the words are those of the small call"


def test_snippet_of_the_smallest_call_fails_alike(operator):
    call, error = seen(torch.ops.aten.mm.default, torch.randn(64, 48), torch.randn(32, 16).t().t())
    found = smallest_call(call, error)
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        exec(found.snippet, {})
    assert sum(size for shape in shapes(found) for size in shape) <= 5


def test_another_error_does_not_count(operator):
    def kernel(x, y):
        raise RuntimeError("first trouble") if x.shape[0] > 10 else RuntimeError("second trouble")

    call, error = seen(operator(kernel), torch.randn(64), torch.randn(2))
    assert shapes(smallest_call(call, error)) == [(11,), (1,)]


def test_values_that_random_numbers_do_not_have(operator):
    def kernel(x, y):
        if int(y.max()) > 50:
            raise RuntimeError("index out of range")
        return x.clone()

    call, error = seen(operator(kernel), torch.randn(4), torch.tensor([99]))
    assert smallest_call(call, error) is None


def test_number_of_tries_is_bounded(operator, monkeypatch):
    tries = []

    def kernel(x, y):
        tries.append(x.shape)
        if min(x.shape) > 90:
            raise RuntimeError("too large")
        return x.clone()

    call, error = seen(operator(kernel), torch.randn(100, 200), torch.randn(300))
    monkeypatch.setattr(search, "_MOST_TRIES", 7)
    tries.clear()
    found = smallest_call(call, error)
    assert len(tries) == 7
    assert error_of(found) is not None


def test_lists_of_tensors_are_cut_to_one():
    tensors = [torch.randn(4, dtype=torch.float32) for _ in range(30)]
    call, error = seen(torch.ops.aten._foreach_add.List, tensors, [torch.randn(5) for _ in range(30)])
    assert len(shapes(smallest_call(call, error))) == 2
