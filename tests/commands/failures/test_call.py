"""A call as plain data: what it holds, the Python that repeats it, and its smaller likenesses."""

from __future__ import annotations

import pytest
import torch

from pippin.commands.failures.call import FailedCall, TensorLike, describe, first_line


def like(tensor: torch.Tensor) -> TensorLike:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return TensorLike(tuple(tensor.shape), tuple(tensor.stride()), dtype, str(tensor.device))


def made(tensor: TensorLike) -> torch.Tensor:
    return eval(tensor.code, {"torch": torch})


def failed(operator, *arguments, words: str = "no", **keywords) -> FailedCall:
    return describe(operator, arguments, keywords, RuntimeError(words))


TENSORS = [
    torch.randn(4, 6),
    torch.randn(()),
    torch.randn(4, 6, dtype=torch.bfloat16).t(),
    torch.randn(2, 8, 6)[:, 0],
    torch.randn(2, 9, 6)[:, 2:5],
    torch.zeros(5, dtype=torch.int64)[::2],
    torch.zeros(4, 1, dtype=torch.bool).expand(4, 7),
    torch.randn(2, 1, 5).expand(2, 3, 5).transpose(0, 2),
    torch.zeros(3, dtype=torch.float8_e4m3fn),
    torch.zeros(0, 3),
]


@pytest.mark.parametrize("tensor", TENSORS, ids=lambda tensor: f"{tensor.dtype}-{list(tensor.shape)}-{tensor.stride()}")
def test_code_makes_a_tensor_of_the_same_looks(tensor):
    assert like(made(like(tensor))) == like(tensor)


def test_code_fills_by_type():
    assert made(like(torch.ones(3, dtype=torch.int32) * 7)).tolist() == [0, 0, 0]
    assert made(like(torch.zeros(2, dtype=torch.bool))).all()
    assert made(like(torch.zeros(50))).unique().numel() == 50


@pytest.mark.parametrize(
    ("tensor", "shape", "strides"),
    [
        (torch.zeros(4, 6), (4, 2), (2, 1)),
        (torch.zeros(6, 4).t(), (4, 2), (1, 4)),
        (torch.zeros(4, 8, 6)[:, 0], (4, 2), (16, 1)),
        (torch.zeros(4, 1).expand(4, 6), (4, 2), (1, 0)),
        (torch.zeros(6, 1, 6), (2, 1, 2), (2, 2, 1)),
    ],
)
def test_other_sizes_keep_the_layout(tensor, shape, strides):
    resized = like(tensor).resized({6: 2})
    assert (resized.shape, resized.strides) == (shape, strides)
    assert like(made(resized)) == resized


def test_snippet_runs_with_all_kinds_of_arguments():
    calls = [
        failed(torch.ops.aten.add.Tensor, torch.ones(2), torch.ones(2), alpha=2),
        failed(torch.ops.aten.clamp.default, torch.ones(2), float("-inf"), float("inf")),
        failed(torch.ops.aten.gelu.default, torch.ones(2), approximate="tanh"),
        failed(torch.ops.aten.cat.default, [torch.ones(2), torch.ones(3)], 0),
        failed(torch.ops.aten._to_copy.default, torch.ones(2), dtype=torch.int8, device=torch.device("cpu")),
        failed(torch.ops.aten.clone.default, torch.ones(2), memory_format=torch.contiguous_format),
        failed(torch.ops.aten.index.Tensor, torch.ones(2), [None, torch.zeros(1, dtype=torch.int64)][1:]),
        failed(torch.ops.aten.native_layer_norm.default, torch.ones(2, 3), [3], None, None, 1e-5),
    ]
    for call in calls:
        exec(call.snippet, {})
    assert calls[0].operator == "aten::add.Tensor"
    assert "alpha=2" in calls[0].snippet


def test_sizes_shrink_wherever_they_stand_but_not_dimensions():
    call = failed(torch.ops.aten.sum.dim_IntList, torch.ones(2, 3, 5), [2])
    assert "[2]," in call.resized({2: 1}).snippet, "the number of a dimension is no size"
    call = failed(torch.ops.aten.expand.default, torch.ones(1, 6), [6, 6])
    assert "[4, 4]," in call.resized({6: 4}).snippet


def test_on_the_cpu_everything_is_there():
    call = failed(torch.ops.aten._to_copy.default, torch.ones(2, device="meta"), device=torch.device("meta"))
    assert "meta" in call.snippet
    assert "torch.meta.synchronize()" in call.snippet
    assert "meta" not in call.on_cpu().snippet
    assert "synchronize" not in call.on_cpu().snippet


def test_words_hold_no_value_of_a_tensor():
    table, row = torch.ones(9, 4), torch.tensor([7731])
    call = failed(torch.ops.aten.embedding.default, table, row, words="index 7731 is out of 9 rows of float32\nmore")
    assert call.error_text == "index # is out of 9 rows of float#"
    assert "7731" not in repr(call)
    assert "7731" not in call.snippet


def test_other_packages_words_and_texts_are_left_out():
    with torch.library._scoped_library("pippin_test", "FRAGMENT") as library:
        library.define("named(Tensor x, str word) -> Tensor")
        call = failed(torch.ops.pippin_test.named.default, torch.ones(1), "zyxquo", words="zyxquo was read")
    assert "zyxquo" not in repr(call)
    assert call.error_type == "RuntimeError"


def test_long_words_are_cut():
    assert len(first_line(RuntimeError("x" * 999))) == 301
    assert first_line(RuntimeError("")) == ""
