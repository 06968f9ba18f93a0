"""Wrong results that real releases give without a word; the releases are inferred from the dates of the fixes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import layer_norm, linear, scaled_dot_product_attention

from against_cpu import moved

pytestmark = pytest.mark.emulated_mps


def layer_norm_is_right(frozen_input: bool) -> bool:
    torch.manual_seed(0)
    ours = [torch.randn(4, 8, requires_grad=not frozen_input), torch.ones(8, requires_grad=True)]
    theirs = moved(ours, "mps")
    for x, weight in (ours, theirs):
        layer_norm(x, (8,), weight).square().sum().backward()
    return torch.allclose(theirs[1].grad.cpu(), ours[1].grad, atol=1e-5)


@pytest.mark.parametrize(
    ("release", "known_bugs", "right"), [("2.12.0", True, False), ("2.12.0", False, True), ("2.13.0", True, True)]
)
def test_layer_norm_above_frozen_layers(mps: Any, release: str, known_bugs: bool, right: bool) -> None:
    with mps.pretend(release=release, known_bugs=known_bugs):
        assert layer_norm_is_right(frozen_input=True) is right
        assert layer_norm_is_right(frozen_input=False)


def linear_is_right(rows: int) -> bool:
    torch.manual_seed(0)
    ours = [torch.randn(rows, 3), torch.randn(2, 3, requires_grad=True)]
    theirs = moved(ours, "mps")
    for x, weight in (ours, theirs):
        linear(x, weight).sum().backward()
    return torch.allclose(theirs[1].grad.cpu(), ours[1].grad, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("release", "chip", "known_bugs", "right"),
    [
        ("2.12.0", "Apple M1", True, False),
        ("2.12.0", "Apple M2 Pro", True, False),
        ("2.12.0", "Apple M3", True, True),
        ("2.12.0", "Apple M1", False, True),
        ("2.13.0", "Apple M1", True, True),
    ],
)
def test_linear_over_many_rows(mps: Any, release: str, chip: str, known_bugs: bool, right: bool) -> None:
    with mps.pretend(release=release, chip=chip, known_bugs=known_bugs):
        assert linear_is_right(32767)
        assert linear_is_right(32768) is right


def sees_the_future(dtype: torch.dtype, training: bool) -> bool:
    """Whether changing the last token changes what comes before it."""
    torch.manual_seed(0)
    x = torch.randn(1, 1, 6, 8, device="mps", dtype=dtype).requires_grad_(training)
    changed = x.detach().clone()
    changed[..., -1, :] += 1
    outputs = [
        scaled_dot_product_attention(each, each, each, is_causal=True)[..., :-1, :]
        for each in (x, changed.requires_grad_(training))
    ]
    return not torch.equal(*outputs)


@pytest.mark.parametrize(
    ("release", "dtype", "known_bugs", "leaks"),
    [
        ("2.13.0", torch.float16, True, True),
        ("2.13.0", torch.bfloat16, True, True),
        ("2.13.0", torch.float32, True, False),
        ("2.13.0", torch.float16, False, False),
        ("2.15.0", torch.float16, True, False),
    ],
)
def test_causal_attention_in_half_precision(
    mps: Any, release: str, dtype: torch.dtype, known_bugs: bool, leaks: bool
) -> None:
    with mps.pretend(release=release, known_bugs=known_bugs):
        assert sees_the_future(dtype, training=False) is leaks
        assert not sees_the_future(dtype, training=True)
